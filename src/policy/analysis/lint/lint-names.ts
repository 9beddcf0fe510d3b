import type { Finding } from './finding.ts'
import { groupBy } from '../../../lib/group-by.ts'
import type { NamedSubjects, PolicyDocument } from '../../language/policy-document.ts'

interface NameUse {
  readonly name: string
  readonly file: string
  readonly line: number
}

/** Names that look alike and are not the same: one of them is probably a mistake. */
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
  return [...uses].flatMap(([kind, list]) => findPollAlikes(kind, list))
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

function findPollAlikes(kind: string, uses: readonly NameUse[]): readonly Finding[] {
  return [...groupBy(uses, ({ name }) => normalizePoll(name)).values()].flatMap((alike) => {
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

/** What a hurried reader sees: no case, no accents, no difference between `-`, `_`, `.` and a space, nothing invisible. */
function normalizePoll(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .replaceAll(/[-_. ]+/g, '-')
    .toLowerCase()
}

/** With what cannot be seen, or be told apart, written out. */
function escapeInvisible(name: string): string {
  return JSON.stringify(name).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => String.raw`\u` + character.charCodeAt(0).toString(16).padStart(4, '0'),
  )
}
