/**
 * Whether a path in storage lies under a folder, part by part: `s3://lake/sales` holds `s3://lake/sales/a`, and
 * neither `s3://lake/sales2/a` nor `s3://lake/sales` itself. The scheme is a part of the path. A path that two
 * readers could understand differently (an empty part, `.` or `..`, `\`, `%`, `?`, `#`, a control character) lies nowhere.
 */
export function isUnderFolder(path: string, folder: string): boolean {
  const parts = parseStoragePath(path)
  const top = parseStoragePath(folder)
  if (parts === undefined || top === undefined || parts.length <= top.length) return false
  return top.every((part, index) => part === parts[index])
}

/** Why that is no folder to confine paths to; undefined for one that is. */
export function validateFolder(folder: string): string | undefined {
  return parseStoragePath(folder) === undefined
    ? `${JSON.stringify(folder)} is not a folder; expected for example "s3://bucket/team" or "warehouse/team"`
    : undefined
}

// oxlint-disable-next-line no-control-regex
const ambiguous = /[\\%?#\u0000-\u001f\u007f]/

/** The scheme, which may be empty, and the parts behind it; undefined for a path that is not plain. */
function parseStoragePath(path: string): readonly string[] | undefined {
  if (ambiguous.test(path)) return undefined
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?\/?(.*)$/.exec(path) ?? []
  const parts = rest.replace(/\/$/, '').split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  return [scheme.toLowerCase(), ...parts]
}
