import { restoreRequirement } from '../conditions/commit-requirements.ts'
import type { Condition, RequirementData } from '../conditions/condition.ts'
import type { PolicyText } from './policy-location.ts'
import { getMembers } from '../../lib/json/is-object.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { PolicyProblem } from '../language/policy-error.ts'
import type { VocabularyOptions } from '../language/policy-vocabulary.ts'
import { compileCached } from '../language/read-condition.ts'

/** A policy document that can be posted between threads: plain data, without compiled conditions. */
export type TransferableDocument = Omit<PolicyDocument, 'rules'> & {
  readonly rules: readonly TransferableRule[]
}

type TransferableRule = Omit<PolicyRule, 'condition'> & {
  readonly condition: TransferableCondition | undefined
}

interface TransferableCondition {
  /** CEL, unless the condition is a commit requirement. */
  readonly text: string
  readonly requirement: RequirementData | undefined
}

/** Files to parse, and what they may contain. */
export interface ParseRequest {
  readonly files: readonly PolicyText[]
  readonly options: VocabularyOptions
}

/** Part of the content of one file; `index` is the index of the file in the list of files. */
export interface ParsedPart {
  readonly index: number
  readonly documents: readonly TransferableDocument[]
  readonly problems: readonly PolicyProblem[]
}

/** Whether a message is a list of parts; their content is not checked, because the parser of this program wrote it. */
export function areParsedParts(message: unknown): message is readonly ParsedPart[] {
  return Array.isArray(message) && message.every(isParsedPart)
}

function isParsedPart(value: unknown): value is ParsedPart {
  const { index, documents, problems } = getMembers(value)
  return typeof index === 'number' && Array.isArray(documents) && Array.isArray(problems)
}

export function toTransferable(document: PolicyDocument): TransferableDocument {
  return { ...document, rules: document.rules.map(toTransferableRule) }
}

export function restoreDocument(transferable: TransferableDocument): PolicyDocument {
  const rules = transferable.rules.map((rule) => ({
    ...rule,
    condition: rule.condition && restoreCondition(rule.condition),
  }))
  return { ...transferable, rules }
}

function toTransferableRule(rule: PolicyRule): TransferableRule {
  const { condition } = rule
  return {
    ...rule,
    condition: condition && { text: condition.text, requirement: condition.requirement },
  }
}

function restoreCondition({ text, requirement }: TransferableCondition): Condition {
  if (requirement !== undefined) return restoreRequirement(requirement)
  const condition = compileCached(text)
  if (!('evaluate' in condition)) throw new Error(`a condition that was valid is not: ${condition.message}`)
  return condition
}
