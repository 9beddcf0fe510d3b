import type { Finding } from './finding.ts'
import { grouped } from './grouped.ts'
import type { NamedSubjects, PolicyDocument } from './policy-document.ts'

interface Use {
  readonly name: string
  readonly file: string
  readonly line: number
}

/** Names that look alike and are not the same: one of them is probably a mistake. */
export function lintNames(documents: readonly PolicyDocument[]): readonly Finding[] {
  const uses = new Map<string, Use[]>([
    ['user', usesOf(documents, ({ users }) => users)],
    ['group', usesOf(documents, ({ groups }) => groups)],
    ['key', usesOf(documents, ({ keys }) => keys)],
    [
      'namespace',
      documents.flatMap(({ namespace, file, line }) => namespace.map((name) => ({ name, file, line }))),
    ],
  ])
  return [...uses].flatMap(([kind, list]) => lookAlikes(kind, list))
}

function usesOf(
  documents: readonly PolicyDocument[],
  read: (subjects: NamedSubjects) => readonly string[],
): Use[] {
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

function lookAlikes(kind: string, uses: readonly Use[]): readonly Finding[] {
  return [...grouped(uses, ({ name }) => lookOf(name)).values()].flatMap((alike) => {
    const [first] = alike
    const others = new Map(alike.filter(({ name }) => name !== first?.name).map((use) => [use.name, use]))
    return [...others.values()].map(({ name, file, line }): Finding => {
      const message =
        `the ${kind} ${show(name)} looks like ${show(first?.name ?? '')} (${first?.file}:${first?.line}) ` +
        'but is a different name; names are compared character by character'
      return { level: 'warning', check: 'look-alike', file, line, message }
    })
  })
}

/** What a hurried reader sees: no case, no accents, no difference between `-`, `_`, `.` and a space, nothing invisible. */
function lookOf(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{Cf}]/gu, '')
    .replaceAll(/[-_. ]+/g, '-')
    .toLowerCase()
}

/** With what cannot be seen, or be told apart, written out. */
function show(name: string): string {
  return JSON.stringify(name).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => String.raw`\u` + character.charCodeAt(0).toString(16).padStart(4, '0'),
  )
}
