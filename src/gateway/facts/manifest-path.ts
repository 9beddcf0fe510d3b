import { refusal } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'

/**
 * Throws InvalidInput (400) unless the path is a canonical path of the staging manifest of some table. Only the catalog
 * knows whether it is below this table. `where` is the member that contains it.
 */
export function assertManifestPath(path: string | undefined, where: string): void {
  if (path === undefined) throw refusal('invalid_body', `the body has no "${where}", the staging manifest`)
  const segments = path
    .replace(/^[a-z][a-z0-9+.-]*:\/\//, '')
    .replace(/^\//, '')
    .split('/')
  const plain = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..')
  // oxlint-disable-next-line no-control-regex
  if (!plain || /[\u0000-\u001f\\%]/.test(path) || segments.at(-2) !== '_versions') {
    throw refusal(
      'invalid_body',
      `"${where}" is ${quoteForMessage(path)}; expected the path of a staging manifest in a folder "_versions"`,
    )
  }
}
