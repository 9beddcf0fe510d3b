import type { Finding } from './finding.ts'
import { groupBy } from '../../../lib/group-by.ts'
import { namespaceKey } from '../reaching-rules.ts'
import type { NamedSubjects, PolicyDocument } from '../../language/policy-document.ts'

interface NameUse {
  readonly name: string
  readonly file: string
  readonly line: number
  readonly column: number
  readonly policy: string
  readonly rule?: string
}

/** Finds different names that look alike or differ by a letter: one of them is probably a mistake. */
export function lintNames(documents: readonly PolicyDocument[]): readonly Finding[] {
  const groups = collectUses(documents, ({ groups }) => groups)
  const namespaces = documents.flatMap(collectNamespaceNames)
  return [
    ...findLookAlikes(
      'user',
      collectUses(documents, ({ users }) => users),
    ),
    ...findLookAlikes('group', groups),
    ...findLookAlikes(
      'key',
      collectUses(documents, ({ keys }) => keys),
    ),
    ...findLookAlikes(
      'namespace',
      namespaces.map(([, use]) => use),
    ),
    ...findTypos('group', groups),
    ...inOneNamespace(namespaces).flatMap((names) => findTypos('namespace', names)),
    ...inOneNamespace(documents.flatMap(collectTables)).flatMap((names) => [
      ...findLookAlikes('table', names),
      ...findTypos('table', names),
    ]),
  ]
}

/** The key of a namespace, and a name directly in it. */
type ChildUse = readonly [parent: string, use: NameUse]

function collectNamespaceNames(document: PolicyDocument): readonly ChildUse[] {
  const { name: policy, namespace, file, line, column } = document
  return namespace.map((name, depth) => [
    namespaceKey(namespace.slice(0, depth)),
    { name, file, line, column, policy },
  ])
}

function collectTables({ name: policy, namespace, rules, file }: PolicyDocument): readonly ChildUse[] {
  const parent = namespaceKey(namespace)
  return rules.flatMap(({ id: rule, tables = [], line, column }) =>
    tables
      .filter((pattern) => !pattern.includes('*'))
      .map((name): ChildUse => [parent, { name, file, line, column, policy, rule }]),
  )
}

function inOneNamespace(children: readonly ChildUse[]): readonly (readonly NameUse[])[] {
  return [...groupBy(children, ([parent]) => parent).values()].map((siblings) =>
    siblings.map(([, use]) => use),
  )
}

function collectUses(
  documents: readonly PolicyDocument[],
  read: (subjects: NamedSubjects) => readonly string[],
): NameUse[] {
  return documents.flatMap(({ name: policy, rules, file }) =>
    rules.flatMap(({ id: rule, subjects, line, column }) =>
      [...read(subjects), ...(subjects.except ? read(subjects.except) : [])].map((name) => ({
        name,
        file,
        line,
        column,
        policy,
        rule,
      })),
    ),
  )
}

function findLookAlikes(kind: string, uses: readonly NameUse[]): readonly Finding[] {
  return [...groupBy(uses, ({ name }) => normalizeName(name)).values()].flatMap((alike) => {
    const [first] = alike
    const others = new Map(alike.filter(({ name }) => name !== first?.name).map((use) => [use.name, use]))
    return [...others.values()].map(({ name, ...use }): Finding => {
      const message =
        `the ${kind} ${escapeInvisible(name)} looks like ${escapeInvisible(first?.name ?? '')} (${first?.file}:${first?.line}) ` +
        'but is a different name; names are compared character by character'
      return { level: 'warning', check: 'look-alike', ...use, message }
    })
  })
}

/** Shorter names, such as `dev` and `devs`, often differ by one letter on purpose. Few namespaces are siblings. */
const minTypoLength = { group: 6, table: 6, namespace: 4 }

/** Finds names that differ by one letter too many, or by two swapped letters. Digits distinguish names on purpose. */
function findTypos(kind: keyof typeof minTypoLength, uses: readonly NameUse[]): readonly Finding[] {
  const first = new Map<string, NameUse>()
  for (const use of uses) if (!first.has(use.name)) first.set(use.name, use)
  const order = new Map([...first.keys()].map((name, index) => [name, index]))
  const findings: Finding[] = []
  for (const use of first.values()) {
    if (use.name.length < minTypoLength[kind]) continue
    for (const variant of listVariants(use.name)) {
      const other = first.get(variant)
      if (other === undefined || normalizeName(variant) === normalizeName(use.name)) continue
      // Swapped letters are found from both names.
      if (variant.length === use.name.length && variant > use.name) continue
      const isOtherFirst = (order.get(other.name) ?? 0) < (order.get(use.name) ?? 0)
      const [later, earlier] = isOtherFirst ? [use, other] : [other, use]
      const { name, ...location } = later
      const message =
        `the ${kind} ${escapeInvisible(name)} differs by one letter from ${escapeInvisible(earlier.name)} ` +
        `(${earlier.file}:${earlier.line}); did you mean that?`
      findings.push({ level: 'warning', check: 'look-alike', ...location, message })
    }
  }
  return findings
}

/** Returns the name without one of its letters, and with two neighbours swapped. */
function listVariants(name: string): ReadonlySet<string> {
  const variants = new Set<string>()
  for (let index = 0; index < name.length; index++) {
    const [letter = '', next = ''] = name.slice(index)
    if (!/[a-z]/i.test(letter)) continue
    variants.add(name.slice(0, index) + name.slice(index + 1))
    if (/[a-z]/i.test(next)) variants.add(name.slice(0, index) + next + letter + name.slice(index + 2))
  }
  return variants
}

/**
 * Removes differences that are easily overlooked: case, accents, invisible characters, and `-`, `_`, `.` or a space.
 */
function normalizeName(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .replaceAll(/[-_. ]+/g, '-')
    .toLowerCase()
}

/** Escapes all characters but printable ASCII. */
function escapeInvisible(name: string): string {
  return JSON.stringify(name).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => String.raw`\u` + character.charCodeAt(0).toString(16).padStart(4, '0'),
  )
}
