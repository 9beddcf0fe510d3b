import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { suggestSimilar } from '../../../lib/suggest-similar.ts'
import { createFinding, type Finding } from './finding.ts'

/** The names that the settings of a gateway give to callers. */
export interface KnownCredentials {
  /** Names of token issuers and other sources, which prefix their principals and groups. */
  readonly issuers: readonly string[]
  /** Principals and groups of API keys. */
  readonly principals: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
}

/** Finds users and groups that no credential has. */
export function lintSubjects(
  documents: readonly PolicyDocument[],
  known: KnownCredentials,
): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) =>
      [
        ...listNames(rule, 'groups').map((name) => findPrefixProblem('group', name, known)),
        ...listNames(rule, 'users').map((name) => findPrefixProblem('user', name, known)),
      ].flatMap((message) =>
        message === undefined ? [] : [createFinding({ document, rule }, 'warning', 'subject', message)],
      ),
    ),
  )
}

/** Returns the users or groups that a rule names, also in its exceptions. */
export function listNames({ subjects }: PolicyRule, kind: 'users' | 'groups'): readonly string[] {
  return [...new Set([...subjects[kind], ...(subjects.except?.[kind] ?? [])])]
}

/** Returns `; did you mean "corp:sales"?` if a group has the name behind a prefix, or a similar name, else an empty string. */
export function suggestGroup(name: string, groups: readonly string[]): string {
  const prefixed = groups.find((group) => group.endsWith(`:${name}`))
  return prefixed === undefined ? suggestSimilar(name, groups) : `; did you mean "${prefixed}"?`
}

/** A name of a token has the prefix of its issuer; any other is one of an API key. */
function findPrefixProblem(
  kind: 'user' | 'group',
  name: string,
  { issuers, principals, groups }: KnownCredentials,
): string | undefined {
  if (issuers.some((issuer) => name.startsWith(`${issuer}:`))) return undefined
  if ((kind === 'user' ? principals : groups).has(name)) return undefined
  const [prefix = '', ...rest] = name.split(':')
  const [issuer] = issuers
  if (rest.length > 0)
    return `names the ${kind} "${name}", but no API key has it, and "${prefix}" is no issuer${suggestSimilar(prefix, issuers)}`
  const suggestion =
    issuer === undefined
      ? ''
      : `; with a token, it has the prefix of its issuer: did you mean "${issuer}:${name}"?`
  return `names the ${kind} "${name}", which no API key has${suggestion}`
}
