/** Replaces each percent-encoded byte, those of overlong and of invalid UTF-8 included. */
function decodeLeniently(text: string): string {
  const overlong = text
    .replaceAll(/%c0%af/gi, '/')
    .replaceAll(/%c0%ae/gi, '.')
    .replaceAll(/%u([0-9a-f]{4})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
  return overlong.replaceAll(/(?:%[0-9a-f]{2})+/gi, (encoded) =>
    Buffer.from(encoded.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

/** Reads a target as the most careless of servers would: one step, which is repeated until nothing changes. */
function step(path: string): string {
  const [text = ''] = decodeLeniently(path)
    .normalize('NFKC')
    .split(/[?#\0]/)
  const segments: string[] = []
  for (const segment of text.replaceAll('\\', '/').split('/')) {
    const name = segment.replace(/;.*$/, '').trim()
    if (name === '..') segments.pop()
    else if (name !== '' && name !== '.') segments.push(name)
  }
  return `/${segments.join('/')}`.toUpperCase().toLowerCase()
}

/** The path by which a server that forgives everything would route a request. */
function readLeniently(path: string): string {
  const next = step(path)
  return next === path ? path : readLeniently(next)
}

/** Whether a careless server would take the target for one of the catalog. */
export function touchesCatalog(target: string): boolean {
  const path = readLeniently(target)
  return path === '/v1' || path.startsWith('/v1/')
}
