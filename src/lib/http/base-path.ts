/** Returns what precedes every path at a server whose URL may have a path: empty, or without a slash at its end. */
export function getBasePath({ pathname }: URL): string {
  return pathname.replace(/\/$/, '')
}
