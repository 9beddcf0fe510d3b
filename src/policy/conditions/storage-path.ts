/**
 * Whether a storage path is under a folder, compared by segment; a folder is not under itself. Ambiguous paths (an
 * empty segment, `.` or `..`, `\`, `%`, `?`, `#`, a control character) are under no folder, because two readers could
 * resolve them differently.
 */
export function isUnderFolder(path: string, folder: string): boolean {
  const parts = parseStoragePath(path)
  const top = parseStoragePath(folder)
  if (parts === undefined || top === undefined || parts.length <= top.length) return false
  return top.every((part, index) => part === parts[index])
}

/** Returns why the text is not a folder; undefined if it is one. */
export function validateFolder(folder: string): string | undefined {
  if (folder.includes('*'))
    return `${JSON.stringify(folder)} has a "*"; a folder includes everything beneath it, and is no pattern`
  return parseStoragePath(folder) === undefined
    ? `${JSON.stringify(folder)} is not a folder; expected for example "s3://bucket/team" or "warehouse/team"`
    : undefined
}

// oxlint-disable-next-line no-control-regex
const ambiguous = /[\\%?#\u0000-\u001f\u007f]/

/** Returns the scheme, possibly empty, and the path segments; undefined if the path is ambiguous. */
function parseStoragePath(path: string): readonly string[] | undefined {
  if (ambiguous.test(path)) return undefined
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?\/?(.*)$/.exec(path) ?? []
  const parts = rest.replace(/\/$/, '').split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  return [scheme.toLowerCase(), ...parts]
}
