import { InvalidArgumentError, type Command } from 'commander'
import { anonymousPrincipal, type Principal } from '../../identity/index.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { PolicyVocabulary } from '../../policy/language/policy-vocabulary.ts'
import { conditionFacts, type AuthorizationRequest } from '../../policy/conditions/authorization-request.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { createWrittenRequest, describeUnstatedFact } from '../../policy/language/written-request.ts'
import { collect, parseIdArgument, parseTime } from '../common/arguments.ts'

export const operationArgument = [
  '<operation>',
  'an operation of the catalog API, such as InsertIntoTable',
] as const
export const idArgument = [
  '<id>',
  'the object, such as prod/sales/orders or prod$sales$orders; / is the root',
] as const

/** Finds the permission of that name. Ends the command if there is none. */
export function requirePermission(
  text: string,
  { permissions: { names, groups } }: PolicyVocabulary,
  command: Command,
): Permission {
  const found = names.find((name) => name === text)
  if (found !== undefined) return found
  const members = groups.get(text)
  if (members !== undefined)
    return command.error(`error: ${text} is a group of operations; expected one, such as ${members[0]}`)
  return command.error(`error: unknown operation ${JSON.stringify(text)}${suggestSimilar(text, names)}`)
}

export interface CallerOptions {
  readonly anonymous?: true
  readonly as?: string
  readonly group: readonly string[]
  readonly key?: string
}

export function addCallerOptions(command: Command): Command {
  return command
    .option('--anonymous', 'anonymous caller: no credential')
    .option('--as <user>', 'principal of the caller')
    .option('--group <name>', 'a group of the caller; repeatable', collect, [])
    .option('--key <id>', 'id of the API key of the caller')
}

/** `claims` are those of the token of the caller, if it has one. */
export function createPrincipal(
  { anonymous, as, group, key }: CallerOptions,
  claims: readonly Claim[] = [],
): Principal {
  if (anonymous) return anonymousPrincipal
  return {
    name: as ?? 'somebody',
    method: claims.length > 0 ? 'token' : 'api-key',
    groups: new Set(group),
    credentialId: key ?? '',
    ...(claims.length > 0 && { claims: Object.fromEntries(claims) }),
  }
}

type FactArgument = readonly [name: string, value: string]

type Claim = readonly [name: string, value: unknown]

/** What conditions and restrictions read of a request: the claims of its caller, and its facts. */
export interface FactOptions {
  readonly claim: readonly Claim[]
  readonly fact: readonly FactArgument[]
}

export function addFactOptions(command: Command): Command {
  return command
    .option('--claim <name=value>', 'a claim of the token, as JSON or text; repeatable', collectClaim, [])
    .option(
      '--fact <name=value>',
      `a fact of the request: ${factNames.join(', ')}, if the operation has it; repeatable`,
      collectFact,
      [],
    )
}

/** Returns why one of the facts is not valid for the permission; undefined if all are. */
export function diagnoseFacts(permission: Permission, facts: readonly FactArgument[]): string | undefined {
  for (const [name, text] of facts) {
    const fact = conditionFacts.find((one) => one === name.split('.', 1)[0])
    const error = fact && describeUnstatedFact(fact, text, new Set([permission]))
    if (error !== undefined) return `--fact ${name}: ${error}`
  }
  return undefined
}

/** The time of the request is now, unless a fact says otherwise. */
export function createRequest(
  principal: Principal,
  permission: Permission,
  id: Identifier,
  facts: readonly FactArgument[],
): AuthorizationRequest {
  const { destination, ...values } = Object.fromEntries(facts)
  const texts = (name: string): ReadonlyMap<string, string> | undefined => {
    const entries = facts.filter(([key]) => key.startsWith(`${name}.`))
    if (entries.length === 0) return undefined
    return new Map(entries.map(([key, value]) => [key.slice(name.length + 1), value]))
  }
  const given = {
    now: new Date().toISOString(),
    ...values,
    destination: destination === undefined ? undefined : parseIdArgument(destination),
    context: texts('context'),
    metadata: texts('metadata'),
    properties: texts('properties'),
  }
  return createWrittenRequest({ principal, permission, id, given })
}

const requestFactNames = [
  'address',
  'now',
  'mode',
  'behavior',
  'branch',
  'tag',
  'location',
  'manifestPath',
  'destination',
]
const factNames = [...requestFactNames, 'context.KEY', 'metadata.KEY', 'properties.KEY']

function collectFact(text: string, before: readonly FactArgument[]): readonly FactArgument[] {
  const [name, value] = parsePair(text)
  if (!factNames.includes(name.replace(/\..+$/s, '.KEY')))
    throw new InvalidArgumentError(
      `unknown fact ${JSON.stringify(name)}${suggestSimilar(name, factNames) || `; expected one of ${factNames.join(', ')}`}`,
    )
  if (name === 'now') parseTime(value)
  if (name === 'destination') parseIdArgument(value)
  return [...before, [name, value]]
}

function collectClaim(text: string, before: readonly Claim[]): readonly Claim[] {
  const [name, value] = parsePair(text)
  return [...before, [name, parseJsonOrText(value)]]
}

function parsePair(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError('expected name=value')
  return [name, value]
}

function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
