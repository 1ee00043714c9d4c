// A page of one molecule.

import { viewIn } from "./links.js";
import { molecule } from "./molecule.js";
import { documentIn } from "./unpack.js";

const shown = molecule(document.getElementById("orbitile-view"), await documentIn(document.getElementById("orbitile-document")), {
  wheel: () => window.parent === window || document.activeElement?.tagName === "CANVAS",
});
const follow = () => location.hash.length > 1 && shown.open(viewIn(location.hash));
addEventListener("hashchange", follow);
follow();
