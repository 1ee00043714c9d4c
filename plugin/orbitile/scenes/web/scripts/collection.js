// A page of several molecules: each has a picture, which becomes a view that turns when it comes into sight.

import { made } from "./elements.js";
import { copied, viewIn } from "./links.js";
import { molecule } from "./molecule.js";
import { documentIn } from "./unpack.js";

const MOST = 4; // molecules that turn at a time: a browser has some sixteen contexts of WebGL, a molecule takes two

const sections = [...document.querySelectorAll("section[data-molecule]")];
const living = new Map(); // from the section to what is shown in it, or will be; the latest stand last

/** What turns in a section; it is begun where there is none. */
function live(section) {
  const found = living.get(section) ?? begin(section);
  living.delete(section);
  living.set(section, found);
  for (const [other, shown] of [...living].slice(0, -MOST)) {
    living.delete(other);
    shown.then((its) => its?.close());
    other.querySelector(".orbitile-view")?.remove();
    delete other.dataset.live;
  }
  return found;
}

async function begin(section) {
  const stage = section.querySelector(".orbitile-stage");
  const element = made("div", {});
  try {
    const contents = await documentIn(section.querySelector("script"));
    stage.append(element);
    section.dataset.live = "yes"; // the style sheet hides the picture
    return molecule(element, contents, { name: section.id });
  } catch (error) {
    delete section.dataset.live;
    element.remove();
    stage.querySelector("figcaption").append(` (it does not turn: ${error.message})`);
    return null;
  }
}

const trial = document.createElement("canvas").getContext("webgl2");
trial?.getExtension("WEBGL_lose_context")?.loseContext();
if (!trial) document.querySelector(".orbitile-help").textContent = "This browser has no WebGL 2, so that the molecules do not turn; pictures, tables and coordinates are here.";
const sight = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) live(target.closest("section"));
});
if (trial) for (const section of sections) sight.observe(section.querySelector(".orbitile-stage"));

/** Show what the address asks for; at first with the heading of the molecule at the top. */
async function follow(block = "nearest") {
  const asked = viewIn(location.hash);
  const section = sections.find(({ id }) => id === asked.molecule);
  if (!section) return;
  (block === "start" ? section : section.querySelector(".orbitile-stage")).scrollIntoView({ block });
  if (trial && (asked.field || asked.camera)) (await live(section))?.open(asked);
}
addEventListener("hashchange", () => follow());
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === location.hash) follow(); // whoever has turned the molecule wants the view again
  const button = event.target.closest("button[data-copies]");
  if (!button) return;
  const done = await copied(document.getElementById(button.dataset.copies).textContent);
  button.nextElementSibling.textContent = done ? "Copied." : "This browser does not allow it: select the text.";
});
await follow("start");
document.body.dataset.ready = "yes";
