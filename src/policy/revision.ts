import { createHash } from 'node:crypto'
import { permissionNames } from '../interface/permissions.ts'
import type { PolicyDocument, PolicyRule } from './policy-document.ts'

/**
 * SHA-256, 64 hex digits, of what the documents say; their names must be unique. Layout, comments, descriptions
 * and which file holds what make no difference.
 */
export function revisionOf(documents: readonly PolicyDocument[]): string {
  const content = documents
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, namespace, inherit, rules }) => [name, namespace, inherit, rules.map(contentOf)])
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

/** Groups of operations are spelled out: if what a group holds changes, so does the revision. */
function contentOf({ id, effect, subjects, permissions, tables }: PolicyRule): readonly unknown[] {
  const { users, groups, any } = subjects
  return [
    id,
    effect,
    users,
    groups,
    any,
    permissionNames.filter((name) => permissions.has(name)),
    tables ?? null,
  ]
}
