/** Returns the anchor that GitHub gives to a heading; the caller numbers those that repeat on a page. */
export function toHeadingAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-')
}
