// drawToFit draws a chart into its place, and again whenever the place has another width.
export function drawToFit(place: HTMLElement, draw: (width: number) => Element): ResizeObserver {
  let last = 0;
  const watch = new ResizeObserver(() => {
    const width = Math.max(320, place.clientWidth);
    if (width === last) return;
    last = width;
    place.replaceChildren(draw(width));
  });
  watch.observe(place);
  return watch;
}
