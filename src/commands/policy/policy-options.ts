import { InvalidArgumentError, type Command } from 'commander'
import type { Principal } from '../../identity/index.ts'
import { formatIdentifierText, type Identifier, type Permission } from '../../catalog-api/index.ts'
import { getMembers, suggestSimilar } from '../../lib/index.ts'
import {
  conditionFacts,
  createCaller,
  describeContextKey,
  findUnstatedFacts,
  isConditionFact,
  listNames,
  listNamespaces,
  namespaceKey,
  noFacts,
  objectKindOfPermission,
  type PolicySet,
  suggestGroup,
  type WrittenRequest,
} from '../../policy/index.ts'
import { collect, parseIdArgument, parseTime } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { readPolicyContext, loadSources, type SourceOptions } from './policy-sources.ts'

/* What commands ask of policies: about a caller, an operation and an object. */

/** Adds the arguments of `loadForOperation`. */
export function addOperationArguments(command: Command, id: '<id>' | '[id]'): Command {
  return command
    .argument('<operation>', 'an operation of the catalog API, such as InsertIntoTable')
    .argument(
      id,
      'the object, such as prod/sales/orders or prod$sales$orders; / is the root',
      parseIdArgument,
    )
}

/** A caller and, if the command takes them, the claims of its token and the facts of its request. */
export interface CallerOptions {
  readonly anonymous?: true
  readonly as?: string
  readonly group: readonly string[]
  readonly key?: string
  readonly claim?: Readonly<Record<string, unknown>>
  readonly fact?: NonNullable<WrittenRequest['given']>
}

export function addCallerOptions(command: Command): Command {
  return command
    .option('--anonymous', 'anonymous caller: no credential')
    .option('--as <user>', 'principal of the caller')
    .option('--group <name>', 'a group of the caller; repeatable', collect, [])
    .option('--key <id>', 'id of the API key of the caller')
}

export function createPrincipal({ anonymous, as, group, key, claim }: CallerOptions): Principal {
  return createCaller({ anonymous, user: as, groups: [...group], key, claims: claim })
}

export function addFactOptions(command: Command): Command {
  return command
    .option('--claim <name=value>', 'a claim of the token, as JSON or text; repeatable', collectClaim)
    .option(
      '--fact <name=value>',
      `a fact of the request: ${factNames.join(', ')}, if the operation has it; repeatable`,
      collectFact,
    )
}

const factNames = ['address', 'now', 'context', ...conditionFacts].map((name) =>
  name === 'context' || (isConditionFact(name) && noFacts[name] instanceof Map) ? `${name}.KEY` : name,
)

function collectFact(text: string, before: CallerOptions['fact'] = {}): CallerOptions['fact'] {
  const [name, value] = parsePair(text)
  const [, map = '', key] = /^([^.]+)\.(.+)$/s.exec(name) ?? []
  if (!factNames.includes(key === undefined ? name : `${map}.KEY`))
    throw new InvalidArgumentError(
      `unknown fact ${JSON.stringify(name)}${suggestSimilar(name, factNames) || `; expected one of ${factNames.join(', ')}`}`,
    )
  if (name === 'now') parseTime(value)
  if (name === 'destination') return { ...before, destination: parseIdArgument(value) }
  if (key === undefined) return { ...before, [name]: value }
  const problem = map === 'context' ? describeContextKey(key) : undefined
  if (problem !== undefined) throw new InvalidArgumentError(problem)
  return { ...before, [map]: { ...getMembers(getMembers(before)[map]), [key]: value } }
}

function collectClaim(text: string, before: CallerOptions['claim']): CallerOptions['claim'] {
  const [name, value] = parsePair(text)
  return { ...before, [name]: parseJsonOrText(value) }
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

/**
 * Loads the policies for a question about an operation, and notes on standard error what is probably mistaken in it. Ends
 * the command if there is no such operation, or if its requests do not state one of the facts.
 */
export async function loadForOperation(
  name: string,
  id: Identifier | undefined,
  options: SourceOptions & Partial<CallerOptions>,
  command: Command,
  io: Io,
) {
  const context = await readPolicyContext(options.config, io, options.policies)
  const { names, groups } = context.vocabulary.permissions
  const operation = names.find((one) => one === name)
  const members = groups.get(name)
  if (members !== undefined)
    return command.error(`error: ${name} is a group of operations; expected one, such as ${members[0]}`)
  if (operation === undefined)
    return command.error(`error: unknown operation ${JSON.stringify(name)}${suggestSimilar(name, names)}`)
  for (const [fact, problem] of findUnstatedFacts(options.fact ?? {}, new Set([operation])))
    command.error(`error: --fact ${fact}: ${problem}`)
  const { set } = await loadSources(context)
  noteUnknownGroups(options, set, io)
  if (id !== undefined) noteMistakenId(operation, id, set, io)
  return { operation, set }
}

/** Notes on standard error the groups of the caller that are subjects of no rule: they are probably misspelt. */
export function noteUnknownGroups(
  { group = [] }: Partial<CallerOptions>,
  set: PolicySet,
  { stderr }: Io,
): void {
  const rules = set.documents.flatMap((document) => document.rules)
  const named = rules.flatMap((rule) => listNames(rule, 'groups'))
  for (const unknown of group.filter((one) => !named.includes(one)))
    stderr.write(`note: no rule names the group ${JSON.stringify(unknown)}${suggestGroup(unknown, named)}\n`)
}

/** An id is probably another one if it is a namespace instead of a table, or has dots between the names. */
function noteMistakenId(operation: Permission, id: Identifier, set: PolicySet, { stderr }: Io): void {
  const known = listNamespaces(set)
  const hasPolicy = (namespace: Identifier): boolean =>
    namespace.length > 0 && known.has(namespaceKey(namespace))
  const text = formatIdentifierText(id)
  const kind = objectKindOfPermission(operation)
  if (kind === 'table' && hasPolicy(id))
    stderr.write(
      `note: ${text} is the namespace of a policy; ${operation} takes a table, such as ${text}/orders\n`,
    )
  const names = id.flatMap((name) => name.split('.'))
  if (names.length > id.length && hasPolicy(kind === 'namespace' ? names : names.slice(0, -1)))
    stderr.write(`note: dots do not separate names; did you mean ${formatIdentifierText(names)}?\n`)
}
