import { InvalidArgumentError, type Command } from 'commander'
import {
  formatIdentifierText,
  getOperation,
  type Identifier,
  isOperationName,
  type Permission,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import { listHeadPermissions } from '../../gateway/index.ts'
import type { Principal } from '../../identity/index.ts'
import { getMembers, suggestSimilar } from '../../lib/index.ts'
import {
  type AuthorizationRequest,
  conditionFacts,
  createCaller,
  createStatedFacts,
  createWrittenRequest,
  describeContextKey,
  type Entitlements,
  explain,
  findUnstatedFacts,
  formatGrants,
  formatVisible,
  isConditionFact,
  isListing,
  listNames,
  listTags,
  noFacts,
  objectKindOfPermission,
  objectPosition,
  type PolicySet,
  suggestGroup,
  whatCan,
  whoCan,
  whoCanTag,
  type WrittenRequest,
} from '../../policy/index.ts'
import { collect, parseIdArgument, parseTime } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { addSourceReport, type SourcePolicies } from './policy-command.ts'

/** A caller and, if the command takes them, the claims of its token and the facts of its request. */
interface CallerOptions {
  readonly anonymous?: true
  readonly as?: string
  readonly group?: readonly string[]
  readonly key?: string
  readonly claim?: Readonly<Record<string, unknown>>
  readonly fact?: NonNullable<WrittenRequest['facts']>
}

function addCallerOptions(command: Command): Command {
  return command
    .option('--anonymous', 'anonymous caller: no credential')
    .option('--as <user>', 'principal of the caller')
    .option('--group <name>', 'a group of the caller; repeatable', collect)
    .option('--key <id>', 'id of the API key of the caller')
}

/** Notes on standard error the groups that are subjects of no rule: they are probably misspelt. */
function createPrincipal(
  { anonymous, as, group = [], key, claim }: CallerOptions,
  set: PolicySet,
  { stderr }: Io,
): Principal {
  const rules = set.documents.flatMap((document) => document.rules)
  const named = rules.flatMap((rule) => listNames(rule, 'groups'))
  for (const unknown of group.filter((one) => !named.includes(one)))
    stderr.write(`note: no rule names the group ${JSON.stringify(unknown)}${suggestGroup(unknown, named)}\n`)
  return createCaller({ anonymous, user: as, groups: [...group], key, claims: claim })
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

function addOperationArguments(command: Command, id: '<id>' | '[id]'): Command {
  return command
    .argument('<operation>', 'an operation of the catalog API, such as InsertIntoTable')
    .argument(
      id,
      'the object, such as prod/sales/orders or prod$sales$orders; / is the root',
      parseIdArgument,
    )
}

/** Ends the command if there is no such operation. */
function parseOperation(
  name: string,
  { vocabulary: { permissions } }: SourcePolicies,
  command: Command,
): Permission {
  const operation = permissions.names.find((one) => one === name)
  if (operation !== undefined) return operation
  const members = permissions.groups.get(name)
  return command.error(
    members === undefined
      ? `error: unknown operation ${JSON.stringify(name)}${suggestSimilar(name, permissions.names)}`
      : `error: ${name} is a group of operations; expected one, such as ${members[0]}`,
  )
}

export function addExplain(policy: Command, io: Io): void {
  const command = policy
    .command('explain')
    .description('explain a decision: the deciding rule and all other rules from the root to the object')
    .option('--claim <name=value>', 'a claim of the token, as JSON or text; repeatable', collectClaim)
    .option(
      '--fact <name=value>',
      `a fact of the request: ${factNames.join(', ')}, if the operation has it; repeatable`,
      collectFact,
    )
  addOperationArguments(addCallerOptions(command), '<id>')
  const example =
    'explain --policies policies --as sam --group sales-engineers InsertIntoTable sales/orders --fact branch=main'
  addSourceReport(
    command,
    io,
    [example],
    (policies, name: string, id: Identifier, options: CallerOptions) => {
      const { set } = policies
      const permission = parseOperation(name, policies, command)
      for (const [fact, problem] of findUnstatedFacts(options.fact ?? {}, new Set([permission])))
        command.error(`error: --fact ${fact}: ${problem}`)
      const principal = createPrincipal(options, set, io)
      const facts = { now: new Date().toISOString(), ...options.fact }
      const request = createWrittenRequest({ principal, permission, id, facts })
      const requires = decideFurther(set, request, createStatedFacts(facts))
      const { report, lines } = explain(set, request, requires)
      return { content: report, lines }
    },
  )
}

/** The further permissions that a request for the operation with these facts requires, each with its decision. */
function decideFurther(set: PolicySet, request: AuthorizationRequest, stated: StatedFacts) {
  if (!isOperationName(request.permission)) return []
  const operation = getOperation(request.permission)
  const route = { operation, id: request.id, delimiter: '/', indexName: undefined, parameters: new Map() }
  const [, ...further] = listHeadPermissions({ route }, { stated })
  return further
    .filter(({ fallback }) => fallback !== 'withheld')
    .map(({ permission, kind, id, facts, includesSubtree = false, requiredBy }) => {
      const own = { ...request, permission, kind, id, operation: facts }
      const decision = includesSubtree ? set.decideBeneath(own) : set.decide(own)
      return { permission, id, includesSubtree, requiredBy, decision }
    })
}

export function addWhoCan(policy: Command, io: Io): void {
  const command = policy
    .command('who-can')
    .description('list the callers that are allowed an operation, with conditions and rules')
    .option(
      '--tag <tag>',
      'instead of an id: everything that has this tag, and tables with columns that have it',
    )
  addOperationArguments(command, '[id]')
  const examples = [
    'who-can --policies policies DropTable sales/orders',
    'who-can --policies policies --tag pii QueryTable',
  ]
  addSourceReport(
    command,
    io,
    examples,
    (policies, name: string, id: Identifier | undefined, { tag = '' }: { readonly tag?: string }) => {
      if ((tag === '') === (id === undefined)) command.error('error: expected either an id or --tag <tag>')
      const { set } = policies
      const operation = parseOperation(name, policies, command)
      if (isListing(operation))
        io.stderr.write(
          `note: ${operation} is also allowed to callers that may see something beneath, and then shows them that; see \`policy explain\`\n`,
        )
      if (id !== undefined) {
        const content = whoCan(set, operation, objectPosition(objectKindOfPermission(operation), id))
        return { content, lines: formatEntitlements(`${operation} on ${formatIdentifierText(id)}`, content) }
      }
      const { all } = listTags(set.documents.map(({ tags }) => tags))
      if (!all.has(tag))
        command.error(`error: no policy declares the tag ${JSON.stringify(tag)}${suggestSimilar(tag, all)}`)
      const content = whoCanTag(set, operation, tag)
      const lines = content.flatMap((one) => formatEntitlements(`${operation} on ${formatTagged(one)}`, one))
      const none = [`nothing that ${operation} applies to has the tag ${tag}`]
      return { content, lines: content.length === 0 ? none : lines }
    },
  )
}

function formatTagged({ namespace, table, columns }: ReturnType<typeof whoCanTag>[number]): string {
  if (table === undefined) return `${formatIdentifierText(namespace)} and beneath`
  const which = columns === undefined ? '' : ` (${columns.join(', ')})`
  return formatIdentifierText([...namespace, table]) + which
}

/** Lists apart the callers that see the tagged columns of a table, the table without them, and nothing, if that differs. */
function formatEntitlements(title: string, { columns, allowed }: Entitlements): readonly string[] {
  const first = `${title}:${allowed.length === 0 ? ' nobody' : ''}`
  if (allowed.every(({ restrictedBy }) => restrictedBy === undefined))
    return [first, ...formatGrants(allowed)]
  return [
    first,
    ...(['all', 'part', 'nothing'] as const).flatMap((part) => {
      const own = allowed.filter(({ sees }) => sees === part)
      return own.length === 0 ? [] : [`  sees ${formatVisible(part, columns)}:`, ...formatGrants(own, '    ')]
    }),
  ]
}

export function addWhatCan(policy: Command, io: Io): void {
  const command = policy
    .command('what-can')
    .description('list the permissions of a caller, with objects, conditions and rules')
  const example = 'what-can --policies policies --as sam --group sales-engineers'
  addSourceReport(addCallerOptions(command), io, [example], ({ set }, options: CallerOptions) => {
    const caller = createPrincipal(options, set, io)
    const content = whatCan(set, caller)
    if (content.every(({ permits }) => permits.length === 0))
      return { content, lines: [`${caller.name} may do nothing`] }
    const lines = content.flatMap(({ namespace, permits }) => {
      const where = namespace.length === 0 ? 'everywhere' : `${formatIdentifierText(namespace)} and beneath`
      return [`${where}${permits.length === 0 ? ': nothing' : ''}`, ...formatGrants(permits)]
    })
    return { content, lines }
  })
}
