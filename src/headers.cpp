// Gives the precompiled headers a target to be built by.
