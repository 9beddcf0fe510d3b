import { createHash } from 'node:crypto'
import { permissionNames, type Permission } from '../interface/permissions.ts'
import type { NamedSubjects, PolicyDocument, PolicyRule } from './policy-document.ts'

/**
 * SHA-256, 64 hex digits, of what the documents say; their names must be unique. Layout, comments, descriptions
 * and which file holds what make no difference.
 */
export function revisionOf(documents: readonly PolicyDocument[]): string {
  const hash = createHash('sha256')
  const spell = spelling()
  for (const document of documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const { name, namespace, inherit, final, onDeny, rules } = document
    const contents = rules.map((rule) => contentOf(rule, spell))
    // Each is a list of its own, so that nothing can move from one into the next unseen.
    hash.update(JSON.stringify([name, namespace, inherit, spell(final), onDeny ?? null, contents]))
  }
  return hash.digest('hex')
}

type Spell = (permissions: ReadonlySet<Permission>) => string

function contentOf(
  { id, effect, subjects, permissions, tables, condition }: PolicyRule,
  spell: Spell,
): readonly unknown[] {
  const { any, anonymous, except } = subjects
  return [
    id,
    effect,
    namesOf(subjects),
    any,
    anonymous,
    except ? namesOf(except) : null,
    spell(permissions),
    tables ?? null,
    condition?.text ?? null,
  ]
}

function namesOf({ users, groups, keys }: NamedSubjects): readonly unknown[] {
  return [users, groups, keys]
}

/** Groups of operations are spelled out: if what a group holds changes, so does the revision. */
function spelling(): Spell {
  const texts = new Map<ReadonlySet<Permission>, string>()
  return (permissions) => {
    let text = texts.get(permissions)
    if (text === undefined) {
      text = permissionNames.filter((name) => permissions.has(name)).join(' ')
      texts.set(permissions, text)
    }
    return text
  }
}
