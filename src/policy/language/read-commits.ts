import {
  allowOnlyFolders,
  requireMetadataKeys,
  type CommitRequirement,
} from '../conditions/commit-requirements.ts'
import { validateFolder } from '../conditions/storage-path.ts'
import { commitFields } from './policy-fields.ts'
import type { Locate } from './yaml/read-yaml.ts'
import { nothingImplied } from './deny-coverage.ts'
import type { PolicyRule } from './policy-document.ts'
import type { PolicyVocabulary } from './policy-vocabulary.ts'
import { everyone, readExceptions } from './read-subjects.ts'
import {
  anyText,
  createFieldsReader,
  readOptional,
  readNonEmptyTexts,
  type Field,
  watchProblems,
  type ReportProblem,
} from './field.ts'

const readCommitFields = createFieldsReader(commitFields)

/**
 * Reads what is required of commits as rules that deny those that do not meet it, with the ids `commits.folders` and
 * `commits.metadata`. Reports all errors.
 */
export function readCommits(
  field: Field,
  locate: Locate,
  report: ReportProblem,
  vocabulary: PolicyVocabulary,
): readonly PolicyRule[] {
  const ofFields = watchProblems(report)
  const fields = readCommitFields(field, ofFields.report)
  const except = fields && readOptional(fields, 'except', readExceptions, report)

  function createRule(id: string, { offset }: Field, requirement: Partial<CommitRequirement>): PolicyRule {
    return {
      id,
      effect: 'deny',
      subjects: { ...everyone, except },
      // Nothing fulfils a requirement that cannot be read.
      permissions: requirement.permissions ?? vocabulary.expand(['change', 'credentials'], 'deny'),
      implied: nothingImplied,
      tables: undefined,
      condition: requirement.condition,
      ...(requirement.message !== undefined && { message: requirement.message }),
      ...locate(offset),
    }
  }

  const rules = requirementNames.flatMap((name) => {
    if (fields?.has(name) !== true) return []
    const watched = watchProblems(report)
    const item = fields.get(name)
    const requirement = requirementReaders[name](item, watched.report)
    return [createRule(`commits.${name}`, item, watched.hasProblems() ? {} : requirement)]
  })
  if (rules.length > 0) return rules
  if (!ofFields.hasProblems())
    report(field.offset, `${field.name} requires nothing; expected ${requirementNames.join(', ')}, or both`)
  return [createRule('commits', field, {})]
}

const requirementNames = ['folders', 'metadata'] as const

const requirementReaders: Readonly<
  Record<(typeof requirementNames)[number], (field: Field, report: ReportProblem) => CommitRequirement>
> = {
  folders: (field, report) =>
    allowOnlyFolders(
      readNonEmptyTexts(field, '["s3://bucket/team"]', report, (folder) => {
        const error = validateFolder(folder)
        return error === undefined ? undefined : (item) => `${item}: ${error}`
      }),
    ),
  metadata: (field, report) => requireMetadataKeys(readNonEmptyTexts(field, '[ticket]', report, anyText)),
}
