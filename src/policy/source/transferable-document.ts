import { requirementCondition } from '../conditions/commit-requirements.ts'
import type { Condition } from '../conditions/condition.ts'
import type { PolicyDocument, PolicyRule } from '../language/policy-document.ts'
import type { PolicyProblem } from '../language/policy-error.ts'
import { compileCached } from '../language/read-rule.ts'

/** A policy document that can be posted between threads: plain data, without compiled conditions. */
export type WrittenDocument = Omit<PolicyDocument, 'rules'> & { readonly rules: readonly WrittenRule[] }

type WrittenRule = Omit<PolicyRule, 'condition'> & { readonly condition: WrittenCondition | undefined }

interface WrittenCondition {
  readonly text: string
  /** Whether the text is a serialized commit requirement rather than CEL. */
  readonly isRequirement: boolean
}

/** Part of the content of one file; `index` is the index of the file in the list of files. */
export interface ParsedPart {
  readonly index: number
  readonly documents: readonly WrittenDocument[]
  readonly problems: readonly PolicyProblem[]
}

/** Converts a document to its transferable form. */
export function writtenDocument(document: PolicyDocument): WrittenDocument {
  return { ...document, rules: document.rules.map(writtenRule) }
}

/** Restores a document and compiles its conditions. */
export function documentFrom(written: WrittenDocument): PolicyDocument {
  const rules = written.rules.map((rule) => ({
    ...rule,
    condition: rule.condition && conditionFrom(rule.condition),
  }))
  return { ...written, rules }
}

function writtenRule(rule: PolicyRule): WrittenRule {
  const { condition } = rule
  return {
    ...rule,
    condition: condition && { text: condition.text, isRequirement: condition.requirement !== undefined },
  }
}

function conditionFrom({ text, isRequirement }: WrittenCondition): Condition {
  if (isRequirement) return requirementCondition(text)
  const condition = compileCached(text)
  if (!('evaluate' in condition)) throw new Error(`a condition that was valid is not: ${condition.message}`)
  return condition
}
