import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { objectKindOfPermission, namespaceKey } from '../../policy/engine/object-position.ts'
import { isListing } from '../../policy/visibility/visibility.ts'
import { listNames, suggestGroup } from '../../policy/analysis/lint/lint-names.ts'
import type { PolicyDocument } from '../../policy/language/policy-document.ts'
import type { Io } from '../common/io.ts'
import type { CallerOptions } from './policy-options.ts'

/** Notes on standard error the groups of the caller that are subjects of no rule: they are probably misspelt. */
export function noteUnknownGroups(
  { group: groups }: CallerOptions,
  documents: readonly PolicyDocument[],
  { stderr }: Io,
): void {
  const named = documents.flatMap(({ rules }) => rules.flatMap((rule) => listNames(rule, 'groups')))
  for (const group of groups) {
    if (named.includes(group)) continue
    stderr.write(`note: no rule names the group ${JSON.stringify(group)}${suggestGroup(group, named)}\n`)
  }
}

/** Notes on standard error an id that is probably another one: a namespace for a table, or dots between the names. */
export function noteMistakenId(
  permission: Permission,
  id: Identifier,
  documents: readonly PolicyDocument[],
  { stderr }: Io,
): void {
  const namespaces = new Set(documents.map(({ namespace }) => namespaceKey(namespace)))
  const text = formatIdentifierText(id)
  const kind = objectKindOfPermission(permission)
  if (kind === 'table' && id.length > 0 && namespaces.has(namespaceKey(id)))
    stderr.write(
      `note: ${text} is the namespace of a policy; ${permission} takes a table, such as ${text}/orders\n`,
    )
  const names = id.flatMap((name) => name.split('.'))
  const namespace = kind === 'namespace' ? names : names.slice(0, -1)
  if (names.length > id.length && namespace.length > 0 && namespaces.has(namespaceKey(namespace)))
    stderr.write(`note: dots do not separate names; did you mean ${formatIdentifierText(names)}?\n`)
}

/** Notes on standard error that a listing needs no rule of its own. */
export function noteListing(permission: Permission, { stderr }: Io): void {
  if (isListing(permission))
    stderr.write(
      `note: ${permission} is also allowed to callers that may see something beneath, and then shows them that; see \`policy explain\`\n`,
    )
}
