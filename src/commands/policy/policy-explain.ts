import { formatCount } from '../../lib/format-count.ts'
import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption, parseIdArgument } from '../common/arguments.ts'
import { printJson, printLine, type Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { describeVerdict, explainDecision, type ExplainedLevel } from '../../policy/analysis/steps.ts'
import { describeConditionError } from '../../policy/conditions/condition-errors.ts'
import { createRuleReference } from '../../policy/engine/compiled-rule.ts'
import type { Step } from '../../policy/engine/evaluate.ts'
import type { ConditionResult } from '../../policy/engine/evaluation.ts'
import { objectPosition } from '../../policy/engine/object-position.ts'
import { conditionFacts } from '../../policy/language/stated-facts.ts'
import { factsAvailableFor } from '../../policy/conditions/permission-facts.ts'
import type { AuthorizationRequest } from '../../policy/conditions/authorization-request.ts'
import { formatTags } from '../../policy/tags/object-tags.ts'
import { decideListing } from '../../policy/visibility/decide-listing.ts'
import {
  createPrincipal,
  addCallerOptions,
  addFactOptions,
  diagnoseFacts,
  idArgument,
  operationArgument,
  requirePermission,
  createAuthorizationRequest,
  type CallerOptions,
  type FactOptions,
} from './policy-options.ts'
import { noteMistakenId, noteUnknownGroups } from './note-mistakes.ts'
import { addSourceOptions, readPolicyContext, requireSources, type SourceOptions } from './policy-sources.ts'
import type { CallerRestriction } from '../../policy/restrictions/restriction.ts'
import {
  alignColumns,
  formatColumns,
  formatCondition,
  formatConditionResult,
  formatReachingRule,
  formatPolicySubjects,
  formatRuleReference,
} from './format-policy.ts'

interface Options extends CallerOptions, FactOptions, SourceOptions {
  readonly json?: true
}

export function addExplain(policy: Command, io: Io): void {
  const command = policy
    .command('explain')
    .description('explain a decision: the deciding rule and all other rules from the root to the object')
  addFactOptions(addCallerOptions(addSourceOptions(command)))
    .option(...jsonOption)
    .argument(...operationArgument)
    .argument(...idArgument, parseIdArgument)
    .addHelpText(
      'after',
      formatExample(
        'catalog-gateway policy explain --policies policies --as sam --group sales-engineers InsertIntoTable sales/orders --fact branch=main',
      ),
    )
    .action((name: string, id: Identifier, options: Options, command: Command) =>
      explain(name, id, options, command, io),
    )
}

async function explain(
  name: string,
  id: Identifier,
  options: Options,
  command: Command,
  io: Io,
): Promise<void> {
  const context = await readPolicyContext(options, io)
  const operation = requirePermission(name, context.vocabulary, command)
  const problem = diagnoseFacts(operation, options.fact)
  if (problem !== undefined) command.error(`error: ${problem}`)
  const { documents, set } = await requireSources(options, io, context)
  noteUnknownGroups(options, documents, io)
  noteMistakenId(operation, id, documents, io)
  const request = createAuthorizationRequest(
    createPrincipal(options, options.claim),
    operation,
    id,
    options.fact,
  )
  const { decision, byVisibility } = decideListing(set, request)
  const contact = decision.allowed ? undefined : set.findContact(request, decision)
  const { message } = set.findGrounds(request, decision)
  const restriction = decision.allowed ? set.findRestriction(request) : undefined
  const levels = explainDecision(set, request)
  const tags = formatTags(set.findTags(objectPosition(request.kind, id)))
  if (options.json) {
    printJson(io, {
      decision,
      ...(byVisibility && { isByVisibility: true }),
      message,
      contact,
      restriction: restriction && reportRestriction(restriction),
      facts: listDecidedFacts(request),
      tags,
      levels: levels.map(toLevelReport),
    })
    return
  }
  const { rule } = decision
  const deciding = levels
    .flatMap(({ rules }) => rules)
    .find((one) => one.document.name === rule?.policy && one.rule.id === rule.rule)
  const byRule = deciding === undefined ? 'no rule allows it' : `by ${formatReachingRule(deciding)}`
  const by = byVisibility
    ? `no rule allows it itself, but it shows what is visible beneath, by ${formatRuleReference(byVisibility.rule)}`
    : byRule
  const result = decision.allowed ? 'allowed' : 'denied'
  printLine(io, `${result}  ${request.principal.name}: ${operation} on ${formatIdentifierText(id)}\n  ${by}`)
  if (message !== undefined) printLine(io, `  message  ${message}  (in a response 403)`)
  if (contact !== undefined) printLine(io, `  contact  ${contact}  (in a response 403)`)
  if (restriction !== undefined) {
    printLine(
      io,
      `  restricted by ${restriction.parts.map((part) => formatRuleReference(part.rule)).join(' and ')}`,
    )
    printLine(io, `    columns  ${formatColumns(restriction.columns)}`)
    printLine(io, `    rows     ${restriction.rows ?? 'all'}`)
  }
  printLine(io, `  facts  ${formatFacts(request)}`)
  if (tags !== '') printLine(io, `  tags   ${tags}`)
  if (levels.length === 0) printLine(io, 'no policy applies to this object or its parents')
  for (const level of levels) printLevel(io, level)
}

function reportRestriction({ columns, rows, parts }: CallerRestriction): unknown {
  return { columns: Object.fromEntries(columns), rows, rules: parts.map(({ rule }) => rule) }
}

function listDecidedFacts({ permission, operation }: AuthorizationRequest): readonly DecidedFact[] {
  const available = factsAvailableFor(permission)
  return conditionFacts
    .filter((name) => available.has(name))
    .map((name) => {
      const fact = operation[name]
      if (typeof fact !== 'symbol')
        return { name, value: fact instanceof Map ? Object.fromEntries(fact) : fact }
      return {
        name,
        unknown: name === 'branch' ? describeUnknownBranch(permission) : 'not stated by requests',
      }
    })
}

type DecidedFact = { readonly name: string } & ({ readonly value: unknown } | { readonly unknown: string })

function formatFacts(request: AuthorizationRequest): string {
  const facts = listDecidedFacts(request).map((fact) =>
    'value' in fact
      ? `${fact.name}: ${JSON.stringify(fact.value)}`
      : `${fact.name}: unknown (${fact.unknown})`,
  )
  return facts.length === 0 ? 'none' : facts.join(', ')
}

function printLevel(io: Io, level: ExplainedLevel): void {
  const notes = [
    ...(level.stopsInheritance ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(level.reservesPermission ? ['final, so no child policy can allow this'] : []),
  ]
  printLine(
    io,
    `\n${formatIdentifierText(level.namespace)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`,
  )
  const rows = level.rules.map((rule) => [
    `  ${rule.rule.effect}`,
    formatReachingRule(rule),
    formatVerdict(rule),
  ])
  for (const line of alignColumns(rows)) printLine(io, line)
  if (level.otherRuleCount > 0)
    printLine(io, `  ${formatCount(level.otherRuleCount, 'rule')} about other operations`)
}

function formatVerdict({ outcome, rule, error }: Step): string {
  const text = rule.condition?.text ?? ''
  const formatResult = (result: ConditionResult): string =>
    rule.condition === undefined ? '' : `: ${formatConditionResult(text, result)}`
  const failed = `${rule.effect === 'deny' ? 'applies' : 'does not apply'}: evaluation failed (${describeConditionError(error)})`
  const texts: Readonly<Record<Step['outcome'], string>> = {
    applies: `applies${formatResult('true')}`,
    'other-caller': `other subjects: ${formatPolicySubjects(rule.subjects)}`,
    'other-table': `other tables: ${(rule.tables ?? []).join(', ')}`,
    stopped: 'blocked by inherit: false beneath',
    reserved: 'blocked by final above',
    false: `does not apply${formatResult('false')}`,
    failed: `${failed}: ${formatCondition(text)}`,
    open: 'may apply',
  }
  return texts[outcome]
}

function toLevelReport({
  namespace,
  stopsInheritance,
  reservesPermission,
  rules,
  otherRuleCount,
}: ExplainedLevel): unknown {
  return {
    namespace,
    isBoundary: stopsInheritance,
    isReserving: reservesPermission,
    rules: rules.map((rule) => ({
      ...createRuleReference(rule),
      effect: rule.rule.effect,
      verdict: describeVerdict(rule),
      ...(rule.implication && { implication: rule.implication }),
      ...(rule.rule.condition && { condition: rule.rule.condition.text }),
      ...(rule.outcome === 'failed' && { reason: describeConditionError(rule.error) }),
    })),
    otherRules: otherRuleCount,
  }
}

function describeUnknownBranch(permission: Permission): string {
  const { effect, unknownBranch } = isOperationName(permission) ? getOperation(permission) : {}
  if (effect !== 'read') return 'every branch'
  return unknownBranch === 'tag' ? 'that of the tag' : 'any branch'
}
