import type { PolicyDocument, PolicyRule } from '../../language/policy-document.ts'
import { suggestSimilar } from '../../../lib/suggest-similar.ts'
import { createFinding, type Finding } from './finding.ts'
import type { KnownSettings } from './known-settings.ts'

/** Finds groups that do not exist, and users and groups that no credential has. Needs the settings or the groups. */
export function lintSubjects(documents: readonly PolicyDocument[], known: KnownSettings): readonly Finding[] {
  return documents.flatMap((document) =>
    document.rules.flatMap((rule) =>
      [
        ...listNames(rule, 'groups').map(
          (name) => findGroupProblem(name, known) ?? findPrefixProblem('group', name, known),
        ),
        ...listNames(rule, 'users').map((name) => findPrefixProblem('user', name, known)),
      ].flatMap((message) =>
        message === undefined ? [] : [createFinding(document, rule, 'warning', 'subject', message)],
      ),
    ),
  )
}

function listNames({ subjects }: PolicyRule, kind: 'users' | 'groups'): readonly string[] {
  return [...new Set([...subjects[kind], ...(subjects.except?.[kind] ?? [])])]
}

function findGroupProblem(name: string, { groups, keys }: KnownSettings): string | undefined {
  if (groups === undefined || groups.has(name) || keys?.groups.has(name) === true) return undefined
  const all = [...groups, ...(keys?.groups ?? [])]
  const prefixed = all.find((group) => group.endsWith(`:${name}`))
  const suggestion =
    prefixed === undefined
      ? suggestSimilar(name, all) || '; correct it, or add it to the list of groups'
      : `; did you mean "${prefixed}"?`
  return `names the group "${name}", which does not exist${suggestion}`
}

/** A name of a token has the prefix of its issuer; any other is one of an API key. */
function findPrefixProblem(
  kind: 'user' | 'group',
  name: string,
  { issuers, keys, groups }: KnownSettings,
): string | undefined {
  if (issuers === undefined || (kind === 'group' && groups !== undefined)) return undefined
  if (issuers.some((issuer) => name.startsWith(`${issuer}:`))) return undefined
  if (keys === undefined || (kind === 'user' ? keys.principals : keys.groups).has(name)) return undefined
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
