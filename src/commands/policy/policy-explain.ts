import type { Command } from 'commander'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import { getOperation, isOperationName } from '../../catalog-api/operations.ts'
import type { Permission } from '../../catalog-api/permissions.ts'
import type { Decision } from '../../policy/engine/decision.ts'
import {
  explainDecision,
  type ExplainedLevel,
  type ExplainedRule,
} from '../../policy/analysis/explain-decision.ts'
import { conditionFacts } from '../../policy/language/unstated-facts.ts'
import { factsAvailableFor } from '../../policy/conditions/operation-facts.ts'
import type { AuthorizationRequest } from '../../policy/conditions/authorization-request.ts'
import { createRuleReference } from '../../policy/analysis/reaching-rules.ts'
import {
  createPrincipal,
  addCallerOptions,
  addFactOption,
  diagnoseFacts,
  idArgument,
  parseIdArgument,
  jsonOption,
  operationArgument,
  requirePermission,
  createAuthorizationRequest,
  type CallerOptions,
  type FactArgument,
} from './policy-options.ts'
import { readPolicyContext } from './policy-context.ts'
import { addSourceOptions, requireSources, type SourceOptions } from './policy-sources.ts'
import {
  alignColumns,
  printLine,
  printJson,
  formatCondition,
  formatId,
  formatRuleReference,
  formatPolicySubjects,
} from './format-policy.ts'

interface Options extends CallerOptions, SourceOptions {
  readonly fact: readonly FactArgument[]
  readonly json?: true
}

export function addExplain(policy: Command): void {
  const command = policy
    .command('explain')
    .description('explain a decision: the deciding rule and all other rules from the root to the object')
  addFactOption(addCallerOptions(addSourceOptions(command)))
    .option(...jsonOption)
    .argument(...operationArgument)
    .argument(...idArgument, parseIdArgument)
    .addHelpText(
      'after',
      '\nExample:\n  catalog-gateway policy explain --policies policies --as sam --group sales-engineers ' +
        'InsertIntoTable sales/orders --fact branch=main',
    )
    .action(explain)
}

async function explain(name: string, id: Identifier, options: Options, command: Command): Promise<void> {
  const context = await readPolicyContext(options)
  const operation = requirePermission(name, context.vocabulary, command)
  const problem = diagnoseFacts(operation, options.fact)
  if (problem !== undefined) command.error(`error: ${problem}`)
  const { documents, set } = await requireSources(options, context)
  const request = createAuthorizationRequest(createPrincipal(options), operation, id, options.fact)
  const decision = set.decide(request)
  const levels = explainDecision(documents, request)
  if (options.json) {
    printJson({ decision, facts: listDecidedFacts(request), levels: levels.map(toLevelReport) })
    return
  }
  printLine(formatDecision(decision, request.principal.name, operation, id))
  printLine(`  facts  ${formatFacts(request)}`)
  if (levels.length === 0) printLine('no policy applies to this object or its parents')
  for (const level of levels) printLevel(level)
}

function formatDecision(decision: Decision, user: string, operation: Permission, id: Identifier): string {
  const request = `${user}: ${operation} on ${formatId(id)}`
  if (decision.rule === undefined) return `denied  ${request}\n  no rule allows it`
  return `${decision.allowed ? 'allowed' : 'denied'}  ${request}\n  by ${formatRuleReference(decision.rule)}`
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

function printLevel(level: ExplainedLevel): void {
  const notes = [
    ...(level.stopsInheritance ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(level.reservesPermission ? ['final, so no child policy can allow this'] : []),
  ]
  printLine(`\n${formatId(level.namespace)}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`)
  const rows = level.rules.map((rule) => [
    `  ${rule.rule.effect}`,
    formatRuleReference(createRuleReference(rule)),
    formatVerdict(rule),
  ])
  for (const line of alignColumns(rows)) printLine(line)
  if (level.otherRuleCount > 0)
    printLine(
      `  ${level.otherRuleCount} ${level.otherRuleCount === 1 ? 'rule' : 'rules'} about other operations`,
    )
}

function formatVerdict({ verdict, rule, conditionError }: ExplainedRule): string {
  const condition = rule.condition === undefined ? '' : formatCondition(rule.condition.text)
  const applies = condition === '' ? 'applies' : `applies: true is ${condition}`
  const failed = `${rule.effect === 'deny' ? 'applies' : 'does not apply'}: evaluation failed (${conditionError ?? ''})`
  const texts: Readonly<Record<ExplainedRule['verdict'], string>> = {
    allows: applies,
    denies: applies,
    'other-caller': `other subjects: ${formatPolicySubjects(rule.subjects)}`,
    'other-table': `other tables: ${(rule.tables ?? []).join(', ')}`,
    stopped: 'blocked by inherit: false beneath',
    reserved: 'blocked by final above',
    false: `does not apply: false is ${condition}`,
    failed: `${failed}: ${condition}`,
  }
  return texts[verdict]
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
      verdict: rule.verdict,
      ...(rule.rule.condition && { condition: rule.rule.condition.text }),
      ...(rule.conditionError !== undefined && { reason: rule.conditionError }),
    })),
    otherRules: otherRuleCount,
  }
}

function describeUnknownBranch(permission: Permission): string {
  const isRead = isOperationName(permission) && getOperation(permission).effect === 'read'
  return isRead ? 'that of the tag' : 'every branch'
}
