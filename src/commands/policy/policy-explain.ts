import type { Command } from 'commander'
import {
  formatIdentifierText,
  getOperation,
  type Identifier,
  isOperationName,
  type StatedFacts,
} from '../../catalog-api/index.ts'
import type { Io } from '../common/io.ts'
import { listHeadPermissions } from '../../gateway/index.ts'
import {
  type AuthorizationRequest,
  createStatedFacts,
  createWrittenRequest,
  explain,
  formatExplanation,
  type PolicySet,
} from '../../policy/index.ts'
import {
  addCallerOptions,
  addFactOptions,
  addOperationArguments,
  createPrincipal,
  loadForOperation,
  type CallerOptions,
} from './policy-options.ts'
import { addReport } from './policy-report.ts'
import { addSourceOptions, type SourceOptions } from './policy-sources.ts'

type Options = CallerOptions & SourceOptions

export function addExplain(policy: Command, io: Io): void {
  const command = policy
    .command('explain')
    .description('explain a decision: the deciding rule and all other rules from the root to the object')
  addOperationArguments(addFactOptions(addCallerOptions(addSourceOptions(command))), '<id>')
  const example =
    'explain --policies policies --as sam --group sales-engineers InsertIntoTable sales/orders --fact branch=main'
  addReport(command, io, [example], async (name: string, id: Identifier, options: Options) => {
    const { operation: permission, set } = await loadForOperation(name, id, options, command, io)
    const principal = createPrincipal(options)
    const given = { now: new Date().toISOString(), ...options.fact }
    const request = createWrittenRequest({ principal, permission, id, given })
    const requires = decideFurther(set, request, createStatedFacts(given))
    const explanation = explain(set, request)
    const content = { ...explanation, requires }
    const title = `${principal.name}: ${permission} on ${formatIdentifierText(id)}`
    return { content, lines: formatExplanation(title, explanation, requires) }
  })
}

/** What a request for the operation that states these facts requires besides its own permission, each with its decision. */
function decideFurther(set: PolicySet, request: AuthorizationRequest, stated: StatedFacts) {
  if (!isOperationName(request.permission)) return []
  const operation = getOperation(request.permission)
  const route = { operation, id: request.id, delimiter: '/', indexName: undefined, parameters: new Map() }
  const [, ...further] = listHeadPermissions({ route }, { stated })
  return further
    .filter(({ fallback }) => fallback !== 'withheld')
    .map(({ permission, kind, id, facts, includesSubtree = false, requiredBy }) => {
      const asked = { ...request, permission, kind, id, operation: facts }
      const decision = includesSubtree ? set.decideBeneath(asked) : set.decide(asked)
      return { permission, id, includesSubtree, requiredBy, decision }
    })
}
