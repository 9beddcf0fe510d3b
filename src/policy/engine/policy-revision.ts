import { createHash } from 'node:crypto'
import type { Steps } from '../../lib/index.ts'
import { isExtraOperationName, type Permission, permissionNames } from '../../catalog-api/index.ts'
import type { DeclaredTags } from '../tags/object-tags.ts'
import type { NamedSubjects, PolicyDocument, PolicyRule } from '../language/policy-document.ts'

/** SHA-256 in hex. Names of documents must be unique. Layout, comments, descriptions and file names have no effect. */
export function* revisionSteps(documents: readonly PolicyDocument[]): Steps<string> {
  const hash = createHash('sha256')
  for (const document of documents.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    hash.update(formatDocument(document))
    yield
  }
  return hash.digest('hex')
}

/** Each part is a list of its own, so different documents have different texts. What is undefined is null in it. */
function formatDocument({ name, namespace, inherit, final, onDeny, rules, tags }: PolicyDocument): string {
  const own = [name, namespace, inherit, formatPermissions(final), onDeny, rules.map(listRule)]
  return JSON.stringify(tags === undefined ? own : [...own, listTags(tags)])
}

function listTags({ namespace, tables }: DeclaredTags): readonly unknown[] {
  return [namespace, [...tables].map(([name, { tags, columns }]) => [name, tags, [...columns]])]
}

/** The end of a rule is part of its condition. */
function listRule(rule: PolicyRule): readonly unknown[] {
  const { id, effect, subjects, permissions, tables, condition, restriction } = rule
  const { any, anonymous, except } = subjects
  const callers = [listNames(subjects), any, anonymous, except && listNames(except)]
  const own = [id, effect, ...callers, formatPermissions(permissions), tables, condition?.text]
  return restriction === undefined ? own : [...own, listRestriction(restriction)]
}

function listRestriction({ columns, rows }: NonNullable<PolicyRule['restriction']>): readonly unknown[] {
  return ['without' in columns ? columns : [...columns], rows?.shown]
}

function listNames({ users, groups, keys }: NamedSubjects): readonly unknown[] {
  return [users, groups, keys]
}

const permissionTexts = new WeakMap<ReadonlySet<Permission>, string>()

/** Groups of operations are expanded, so the revision changes if a group changes. */
function formatPermissions(permissions: ReadonlySet<Permission>): string {
  let text = permissionTexts.get(permissions)
  if (text === undefined) {
    const extra = [...permissions].filter(isExtraOperationName).toSorted()
    text = [...permissionNames.filter((name) => permissions.has(name)), ...extra].join(' ')
    permissionTexts.set(permissions, text)
  }
  return text
}
