// All pages of the report in one process, with one Chromium and one rendering of the fixtures.
import './page.test.mjs';
import './family.test.mjs';
