// The module's function for JavaScript, in the page's worker and in node.

// Writes the data files into the module's memory; returns call(name, options) -> reply as text.
export function calls(module, files) {
  for (const [path, text] of Object.entries(files)) write(module, `/tilescope/${path}`, text);
  return (name, options) => {
    const text = JSON.stringify({ call: name, options });
    const bytes = module.lengthBytesUTF8(text) + 1;
    const request = module._malloc(bytes);
    module.stringToUTF8(text, request, bytes);
    try {
      return module.UTF8ToString(module._tilescope_call(request));
    } finally {
      module._free(request);
    }
  };
}

export function write(module, path, text) {
  module.FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
  module.FS.writeFile(path, text);
}
