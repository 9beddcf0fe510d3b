import { createHash } from 'node:crypto'
import type { Steps } from '../../lib/async/run-in-slices.ts'
import { permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import type { NamedSubjects, PolicyDocument, PolicyRule } from '../language/policy-document.ts'

/**
 * SHA-256, 64 hex digits, of what the documents say; their names must be unique. Layout, comments, descriptions
 * and which file holds what make no difference.
 */
export function* revisionSteps(documents: readonly PolicyDocument[]): Steps<string> {
  const hash = createHash('sha256')
  const spell = createPermissionFormatter()
  let text = ''
  for (const document of documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    text += formatDocument(document, spell)
    yield
    if (text.length < hashChunkLength) continue
    hash.update(text)
    text = ''
  }
  return hash.update(text).digest('hex')
}

/** So much is hashed at a time: each call costs as much as hashing some hundred bytes. */
const hashChunkLength = 64 * 1024

const json = JSON.stringify

type FormatPermissions = (permissions: ReadonlySet<Permission>) => string

/**
 * In JSON, written part by part, which is sooner done than to make lists of it all for JSON.stringify. Each part is a
 * list of its own, so that nothing can move from one into the next unseen.
 */
function formatDocument(document: PolicyDocument, spell: FormatPermissions): string {
  const { name, namespace, inherit, final, onDeny, rules } = document
  let contents = ''
  for (const rule of rules) contents += `${contents === '' ? '' : ','}${formatRule(rule, spell)}`
  return `[${json(name)},${json(namespace)},${inherit},${spell(final)},${onDeny ?? null},[${contents}]]`
}

function formatRule(rule: PolicyRule, spell: FormatPermissions): string {
  const { id, effect, subjects, permissions, tables, condition } = rule
  const { any, anonymous, except } = subjects
  const whom = `${formatSubjects(subjects)},${any},${anonymous},${except ? formatSubjects(except) : null}`
  const what = `${spell(permissions)},${tables ? json(tables) : null}`
  return `[${json(id)},"${effect}",${whom},${what},${condition ? json(condition.text) : null}]`
}

function formatSubjects({ users, groups, keys }: NamedSubjects): string {
  return `[${formatNames(users)},${formatNames(groups)},${formatNames(keys)}]`
}

/** Most lists are empty: two of three in most rules. */
function formatNames(names: readonly string[]): string {
  return names.length === 0 ? '[]' : json(names)
}

/** Groups of operations are spelled out: if what a group holds changes, so does the revision. */
function createPermissionFormatter(): FormatPermissions {
  const texts = new Map<ReadonlySet<Permission>, string>()
  return (permissions) => {
    let text = texts.get(permissions)
    if (text === undefined) {
      text = json(permissionNames.filter((name) => permissions.has(name)).join(' '))
      texts.set(permissions, text)
    }
    return text
  }
}
