import { formatCount } from '../../lib/format-count.ts'
import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption, parseIdArgument } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import { describeStep, explainDecision, type ExplainedLevel } from '../../policy/analysis/steps.ts'
import { describeConditionError } from '../../policy/conditions/condition-errors.ts'
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
  printReport,
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
  const facts = listDecidedFacts(request)
  const report = {
    decision,
    ...(byVisibility && { isByVisibility: true }),
    message,
    contact,
    restriction: restriction && {
      columns: Object.fromEntries(restriction.columns),
      rows: restriction.rows,
      rules: restriction.parts.map(({ rule }) => rule),
    },
    facts,
    tags,
    levels: levels.map(toLevelReport),
  }
  const { rule } = decision
  const deciding = levels
    .flatMap(({ rules }) => rules)
    .find((one) => one.document.name === rule?.policy && one.rule.id === rule.rule)
  const byRule = deciding === undefined ? 'no rule allows it' : `by ${formatReachingRule(deciding)}`
  const by = byVisibility
    ? `no rule allows it itself, but it shows what is visible beneath, by ${formatRuleReference(byVisibility.rule)}`
    : byRule
  const grounds = Object.entries({ message, contact }).filter(([, text]) => text !== undefined)
  printReport(io, options.json, report, [
    `${decision.allowed ? 'allowed' : 'denied'}  ${request.principal.name}: ${operation} on ${formatIdentifierText(id)}`,
    `  ${by}`,
    ...grounds.map(([what, text]) => `  ${what}  ${text}  (in a response 403)`),
    ...(restriction ? formatRestriction(restriction) : []),
    `  facts  ${facts.map(formatFact).join(', ') || 'none'}`,
    ...(tags === '' ? [] : [`  tags   ${tags}`]),
    ...(levels.length === 0
      ? ['no policy applies to this object or its parents']
      : levels.flatMap(formatLevel)),
  ])
}

function formatRestriction({ columns, rows, parts }: CallerRestriction): readonly string[] {
  return [
    `  restricted by ${parts.map(({ rule }) => formatRuleReference(rule)).join(' and ')}`,
    `    columns  ${formatColumns(columns)}`,
    `    rows     ${rows ?? 'all'}`,
  ]
}

type DecidedFact = { readonly name: string } & ({ readonly value: unknown } | { readonly unknown: string })

function listDecidedFacts({ permission, operation }: AuthorizationRequest): readonly DecidedFact[] {
  const available = factsAvailableFor(permission)
  return conditionFacts
    .filter((name) => available.has(name))
    .map((name) => {
      const fact = operation[name]
      if (typeof fact === 'symbol')
        return {
          name,
          unknown: name === 'branch' ? describeUnknownBranch(permission) : 'not stated by requests',
        }
      return { name, value: fact instanceof Map ? Object.fromEntries(fact) : fact }
    })
}

function formatFact(fact: DecidedFact): string {
  return `${fact.name}: ${'value' in fact ? JSON.stringify(fact.value) : `unknown (${fact.unknown})`}`
}

function formatLevel(level: ExplainedLevel): readonly string[] {
  const notes = [
    ...(level.stopsInheritance ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(level.reservesPermission ? ['final, so no child policy can allow this'] : []),
  ]
  const note = notes.length === 0 ? '' : `  (${notes.join('; ')})`
  const others = `  ${formatCount(level.otherRuleCount, 'rule')} about other operations`
  return [
    `\n${formatIdentifierText(level.namespace)}${note}`,
    ...alignColumns(
      level.rules.map((rule) => [`  ${rule.rule.effect}`, formatReachingRule(rule), formatVerdict(rule)]),
    ),
    ...(level.otherRuleCount > 0 ? [others] : []),
  ]
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

function toLevelReport(level: ExplainedLevel): unknown {
  return {
    namespace: level.namespace,
    isBoundary: level.stopsInheritance,
    isReserving: level.reservesPermission,
    rules: level.rules.map((step) => ({
      ...describeStep(step),
      implication: step.implication,
      condition: step.rule.condition?.text,
      ...(step.outcome === 'failed' && { reason: describeConditionError(step.error) }),
    })),
    otherRules: level.otherRuleCount,
  }
}

function describeUnknownBranch(permission: Permission): string {
  const { effect, unknownBranch } = isOperationName(permission) ? getOperation(permission) : {}
  if (effect !== 'read') return 'every branch'
  return unknownBranch === 'tag' ? 'that of the tag' : 'any branch'
}
