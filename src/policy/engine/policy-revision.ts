import { createHash } from 'node:crypto'
import type { Steps } from '../../lib/async/run-in-slices.ts'
import { isExtraOperationName, permissionNames, type Permission } from '../../catalog-api/permissions.ts'
import type { WrittenRestriction } from '../restrictions/restriction.ts'
import type { DeclaredTags } from '../tags/declared-tags.ts'
import type { NamedSubjects, PolicyDocument, PolicyRule } from '../language/policy-document.ts'

/** SHA-256 in hex. Names of documents must be unique. Layout, comments, descriptions and file names have no effect. */
export function* revisionSteps(documents: readonly PolicyDocument[]): Steps<string> {
  const hash = createHash('sha256')
  const formatPermissions = createPermissionFormatter()
  let text = ''
  for (const document of documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    text += formatDocument(document, formatPermissions)
    yield
    if (text.length < hashChunkLength) continue
    hash.update(text)
    text = ''
  }
  return hash.update(text).digest('hex')
}

/** Batched, because each call of `update` costs as much as hashing some hundred bytes. */
const hashChunkLength = 64 * 1024

const json = JSON.stringify

type FormatPermissions = (permissions: ReadonlySet<Permission>) => string

/**
 * Faster than lists for JSON.stringify. Each part is a list of its own, so different documents have different texts.
 */
function formatDocument(document: PolicyDocument, formatPermissions: FormatPermissions): string {
  const { name, namespace, inherit, final, onDeny, rules, tags } = document
  let contents = ''
  for (const rule of rules) contents += `${contents === '' ? '' : ','}${formatRule(rule, formatPermissions)}`
  return `[${json(name)},${json(namespace)},${inherit},${formatPermissions(final)},${onDeny ?? null},[${contents}]${formatTags(tags)}]`
}

function formatRule(rule: PolicyRule, formatPermissions: FormatPermissions): string {
  const { id, effect, subjects, permissions, tables, condition, restriction } = rule
  const { any, anonymous, except } = subjects
  const subjectText = `${formatSubjects(subjects)},${any},${anonymous},${except ? formatSubjects(except) : null}`
  const permissionText = `${formatPermissions(permissions)},${tables ? json(tables) : null}`
  // The end of a rule is part of its condition.
  const more = formatRestriction(restriction)
  return `[${json(id)},"${effect}",${subjectText},${permissionText},${condition ? json(condition.text) : null}${more}]`
}

function formatRestriction(restriction: WrittenRestriction | undefined): string {
  if (restriction === undefined) return ''
  const { columns, rows } = restriction
  const written = 'without' in columns ? columns : [...columns]
  return `,[${json(written)},${json(rows ?? null)}]`
}

function formatSubjects({ users, groups, keys }: NamedSubjects): string {
  return `[${formatNames(users)},${formatNames(groups)},${formatNames(keys)}]`
}

function formatTags(declared: DeclaredTags | undefined): string {
  if (declared === undefined) return ''
  const tables = [...declared.tables].map(([name, { tags, columns }]) => [name, tags, [...columns]])
  return `,${json([declared.namespace ?? null, tables])}`
}

/** Fast path: two of three lists are empty in most rules. */
function formatNames(names: readonly string[]): string {
  return names.length === 0 ? '[]' : json(names)
}

/** Groups of operations are expanded, so the revision changes if a group changes. */
function createPermissionFormatter(): FormatPermissions {
  const texts = new Map<ReadonlySet<Permission>, string>()
  return (permissions) => {
    let text = texts.get(permissions)
    if (text === undefined) {
      const extra = [...permissions].filter(isExtraOperationName).toSorted()
      text = json([...permissionNames.filter((name) => permissions.has(name)), ...extra].join(' '))
      texts.set(permissions, text)
    }
    return text
  }
}
