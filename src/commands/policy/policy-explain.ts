import { formatCount } from '../../lib/index.ts'
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
  type ConditionResult,
  createStatedFacts,
  createWrittenRequest,
  explain,
  type Explanation,
  formatRule,
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
import {
  alignColumns,
  formatColumns,
  formatCondition,
  formatConditionResult,
  formatAnswer,
  formatPolicySubjects,
} from './format-policy.ts'

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
    const content = { ...explain(set, request), requires }
    const title = `${principal.name}: ${permission} on ${formatIdentifierText(id)}`
    return { content, lines: formatExplanation(title, content) }
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

type Report = Explanation & { readonly requires: ReturnType<typeof decideFurther> }
type Level = Explanation['levels'][number]
type Rule = Level['rules'][number]

function formatExplanation(title: string, report: Report): readonly string[] {
  const { decision, isByVisibility, status, message, contact, restriction, requires } = report
  const { facts, tags, levels } = report
  const { allowed, rule } = decision
  // That of the levels says why it covers the operation.
  const deciding = levels
    .flatMap(({ rules }) => rules)
    .find((one) => one.policy === rule?.policy && one.rule === rule.rule)
  const by = rule === undefined ? 'no rule allows it' : `by ${formatRule(deciding ?? rule)}`
  const grounds = Object.entries({ message, contact }).filter(([, text]) => text !== undefined)
  const response = status === 404 ? 'response 404, as if it did not exist' : `response ${status}`
  return [
    `${allowed ? 'allowed' : 'denied'}  ${title}`,
    `  ${isByVisibility ? 'no rule allows it itself, but it shows what is visible beneath, ' : ''}${by}`,
    ...(allowed ? [] : [`  ${response}`]),
    ...grounds.map(([what, text]) => `    ${what}  ${text}`),
    ...(restriction === undefined
      ? []
      : [
          `  restricted by ${restriction.rules.map(formatRule).join(' and ')}`,
          `    columns  ${formatColumns(restriction.columns)}`,
          `    rows     ${restriction.rows ?? 'all'}`,
        ]),
    ...requires.map(formatRequired),
    `  facts  ${facts.map(formatFact).join(', ') || 'none'}`,
    ...(tags === '' ? [] : [`  tags   ${tags}`]),
    ...(levels.length === 0
      ? ['no policy applies to this object or its parents']
      : levels.flatMap(formatLevel)),
  ]
}

function formatRequired(required: Report['requires'][number]): string {
  const { permission, id, includesSubtree, requiredBy, decision } = required
  const object = `${includesSubtree ? 'everything beneath ' : ''}${formatIdentifierText(id)}`
  return `  also requires ${permission} on ${object} (${requiredBy}): ${formatAnswer(decision)}`
}

function formatFact(fact: Explanation['facts'][number]): string {
  return `${fact.name}: ${'value' in fact ? JSON.stringify(fact.value) : `unknown (${fact.unknown})`}`
}

function formatLevel({ namespace, isBoundary, isReserving, rules, otherRules }: Level): readonly string[] {
  const notes = [
    ...(isBoundary ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(isReserving ? ['final, so no child policy can allow this'] : []),
  ]
  return [
    `\n${formatIdentifierText(namespace)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`,
    ...alignColumns(rules.map((rule) => [`  ${rule.effect}`, formatRule(rule), formatVerdict(rule)])),
    ...(otherRules > 0 ? [`  ${formatCount(otherRules, 'rule')} about other operations`] : []),
  ]
}

function formatVerdict(rule: Rule): string {
  const { verdict, effect, subjects, tables = [], condition, reason } = rule
  const formatResult = (result: ConditionResult): string =>
    condition === undefined ? '' : `: ${formatConditionResult(condition, result)}`
  const applies = `applies${formatResult('true')}`
  const texts: Readonly<Record<Rule['verdict'], string>> = {
    allows: applies,
    denies: applies,
    'other-caller': `other subjects: ${formatPolicySubjects(subjects)}`,
    'other-table': `other tables: ${tables.join(', ')}`,
    stopped: 'blocked by inherit: false beneath',
    reserved: 'blocked by final above',
    false: `does not apply${formatResult('false')}`,
    failed: `${effect === 'deny' ? 'applies' : 'does not apply'}: evaluation failed (${reason}): ${formatCondition(condition ?? '')}`,
    open: 'may apply',
  }
  return texts[verdict]
}
