import type { Finding } from './finding.ts'
import { groupBy } from '../../../lib/group-by.ts'
import type { NamedSubjects, PolicyDocument } from '../../language/policy-document.ts'

interface NameUse {
  readonly name: string
  readonly file: string
  readonly line: number
}

/** Finds different names that look alike: one of them is probably a mistake. */
export function lintNames(documents: readonly PolicyDocument[]): readonly Finding[] {
  const uses = new Map<string, NameUse[]>([
    ['user', collectUses(documents, ({ users }) => users)],
    ['group', collectUses(documents, ({ groups }) => groups)],
    ['key', collectUses(documents, ({ keys }) => keys)],
    [
      'namespace',
      documents.flatMap(({ namespace, file, line }) => namespace.map((name) => ({ name, file, line }))),
    ],
  ])
  return [...uses].flatMap(([kind, list]) => findLookAlikes(kind, list))
}

function collectUses(
  documents: readonly PolicyDocument[],
  read: (subjects: NamedSubjects) => readonly string[],
): NameUse[] {
  return documents.flatMap(({ rules, file }) =>
    rules.flatMap(({ subjects, line }) =>
      [...read(subjects), ...(subjects.except ? read(subjects.except) : [])].map((name) => ({
        name,
        file,
        line,
      })),
    ),
  )
}

function findLookAlikes(kind: string, uses: readonly NameUse[]): readonly Finding[] {
  return [...groupBy(uses, ({ name }) => normalizeName(name)).values()].flatMap((alike) => {
    const [first] = alike
    const others = new Map(alike.filter(({ name }) => name !== first?.name).map((use) => [use.name, use]))
    return [...others.values()].map(({ name, file, line }): Finding => {
      const message =
        `the ${kind} ${escapeInvisible(name)} looks like ${escapeInvisible(first?.name ?? '')} (${first?.file}:${first?.line}) ` +
        'but is a different name; names are compared character by character'
      return { level: 'warning', check: 'look-alike', file, line, message }
    })
  })
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
