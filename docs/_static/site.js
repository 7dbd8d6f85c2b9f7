// What the theme leaves out for readers by keyboard and by ear.
document.addEventListener("DOMContentLoaded", () => {
  const named = { ".sidebar-drawer": "Site", ".toc-drawer": "On this page" };
  for (const [place, name] of Object.entries(named)) {
    document.querySelector(place)?.setAttribute("aria-label", name);
  }
  // what scrolls sideways can be reached and scrolled by keys
  const wide = document.querySelectorAll(".table-wrapper, div.math, .highlight pre");
  const reach = () => {
    for (const element of wide) {
      const scrolls = element.scrollWidth > element.clientWidth;
      if (scrolls) element.setAttribute("tabindex", "0");
      else element.removeAttribute("tabindex");
    }
  };
  reach();
  addEventListener("resize", reach);
  addEventListener("load", reach);
});
