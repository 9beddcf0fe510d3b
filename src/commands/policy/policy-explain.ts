import { formatCount } from '../../lib/format-count.ts'
import type { Command } from 'commander'
import { formatIdentifierText } from '../../catalog-api/identifier-text.ts'
import { jsonOption, parseIdArgument } from '../common/arguments.ts'
import type { Io } from '../common/io.ts'
import { formatExample } from '../common/new-command.ts'
import type { Identifier } from '../../catalog-api/identifiers.ts'
import {
  explain,
  type ExplainedLevel,
  type ExplainedRule,
  type Explanation,
} from '../../policy/analysis/explain.ts'
import type { ConditionResult } from '../../policy/engine/evaluate.ts'
import {
  createPrincipal,
  addCallerOptions,
  addFactOptions,
  diagnoseFacts,
  idArgument,
  operationArgument,
  requirePermission,
  createRequest,
  type CallerOptions,
  type FactOptions,
} from './policy-options.ts'
import { noteMistakenId, noteUnknownGroups } from './note-mistakes.ts'
import { addSourceOptions, readPolicyContext, requireSources, type SourceOptions } from './policy-sources.ts'
import {
  alignColumns,
  formatColumns,
  formatCondition,
  formatConditionResult,
  formatPolicySubjects,
  formatRule,
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
      explainDecision(name, id, options, command, io),
    )
}

async function explainDecision(
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
  const request = createRequest(createPrincipal(options, options.claim), operation, id, options.fact)
  const report = explain(set, request)
  const title = `${request.principal.name}: ${operation} on ${formatIdentifierText(id)}`
  printReport(io, options.json, report, formatExplanation(title, report))
}

function formatExplanation(title: string, explanation: Explanation): readonly string[] {
  const { decision, isByVisibility, message, contact, restriction, facts, tags, levels } = explanation
  const { allowed, rule } = decision
  // That of the levels says why it covers the operation.
  const deciding =
    levels
      .flatMap(({ rules }) => rules)
      .find((one) => one.policy === rule?.policy && one.rule === rule.rule) ?? rule
  const by = deciding === undefined ? 'no rule allows it' : `by ${formatRule(deciding)}`
  const grounds = Object.entries({ message, contact }).filter(([, text]) => text !== undefined)
  return [
    `${allowed ? 'allowed' : 'denied'}  ${title}`,
    `  ${isByVisibility ? 'no rule allows it itself, but it shows what is visible beneath, ' : ''}${by}`,
    ...grounds.map(([what, text]) => `  ${what}  ${text}  (in a response 403)`),
    ...(restriction === undefined
      ? []
      : [
          `  restricted by ${restriction.rules.map(formatRule).join(' and ')}`,
          `    columns  ${formatColumns(restriction.columns)}`,
          `    rows     ${restriction.rows ?? 'all'}`,
        ]),
    `  facts  ${facts.map(formatFact).join(', ') || 'none'}`,
    ...(tags === '' ? [] : [`  tags   ${tags}`]),
    ...(levels.length === 0
      ? ['no policy applies to this object or its parents']
      : levels.flatMap(formatLevel)),
  ]
}

function formatFact(fact: Explanation['facts'][number]): string {
  return `${fact.name}: ${'value' in fact ? JSON.stringify(fact.value) : `unknown (${fact.unknown})`}`
}

function formatLevel({
  namespace,
  isBoundary,
  isReserving,
  rules,
  otherRules,
}: ExplainedLevel): readonly string[] {
  const notes = [
    ...(isBoundary ? ['inherit: false, so rules of parents do not allow anything here'] : []),
    ...(isReserving ? ['final, so no child policy can allow this'] : []),
  ]
  const note = notes.length === 0 ? '' : `  (${notes.join('; ')})`
  return [
    `\n${formatIdentifierText(namespace)}${note}`,
    ...alignColumns(rules.map((rule) => [`  ${rule.effect}`, formatRule(rule), formatVerdict(rule)])),
    ...(otherRules > 0 ? [`  ${formatCount(otherRules, 'rule')} about other operations`] : []),
  ]
}

function formatVerdict({ verdict, effect, subjects, tables = [], condition, reason }: ExplainedRule): string {
  const formatResult = (result: ConditionResult): string =>
    condition === undefined ? '' : `: ${formatConditionResult(condition, result)}`
  const applies = `applies${formatResult('true')}`
  const texts: Readonly<Record<ExplainedRule['verdict'], string>> = {
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
