/**
 * Access policies: read and compiled (`loadPolicies`, `watchFolders`), they are a `PolicySet` that decides; reports
 * explain its decisions.
 */
export { diffPolicies } from './analysis/diff-policies.ts'
export { explain } from './analysis/explain.ts'
export { formatDiff, formatGroups } from './analysis/format-diff.ts'
export {
  formatDecision,
  formatGrants,
  formatPart,
  formatPolicySubject,
  formatVisible,
} from './analysis/format-policy.ts'
export { type Entitlements, listTableRules, whatCan, whoCan, whoCanTag } from './analysis/grants.ts'
export { type Finding } from './analysis/lint/check.ts'
export { type KnownCredentials, listNames, suggestGroup } from './analysis/lint/lint-names.ts'
export { lintWithShadowPolicies } from './analysis/lint/lint-policies.ts'
export { countCalls, type RecordedCall, type ReplayedCalls, replayCalls } from './analysis/replay.ts'
export { formatRule } from './analysis/steps.ts'
export {
  type AuthorizationRequest,
  type ConditionFact,
  conditionFacts,
  isConditionFact,
  noFacts,
  type OperationFacts,
  type RequestFacts,
} from './conditions/authorization-request.ts'
export { describeConditionError } from './conditions/condition.ts'
export {
  type KnownFacts,
  listDestinations,
  operationFactsOf,
  permissionFacts,
  requirementFacts,
} from './conditions/permission-facts.ts'
export { type Allowed, type Decision, qualifiedRuleName, type RuleReference } from './engine/decision.ts'
export { isNamespaceMember, objectKindOfPermission, objectPosition } from './engine/object-position.ts'
export type { KnownCaller } from './engine/subject.ts'
export type { PolicyDocument } from './language/policy-document.ts'
export { formatProblem, PolicyError, type PolicyProblem } from './language/policy-document.ts'
export {
  createPolicyVocabulary,
  listPermissions,
  type PolicyVocabulary,
  type VocabularyOptions,
} from './language/policy-vocabulary.ts'
export {
  createCaller,
  createStatedFacts,
  createWrittenRequest,
  describeContextKey,
  findUnstatedFacts,
  type WrittenRequest,
} from './language/written-request.ts'
export type { PolicySet } from './policy-set.ts'
export type { VisibleColumns } from './restrictions/column-types.ts'
export { FilterError } from './restrictions/filter-tokens.ts'
export { printFilter } from './restrictions/print-filter.ts'
export {
  type CallerRestriction,
  isSameRestriction,
  listRowColumns,
  listStructs,
} from './restrictions/restriction.ts'
export { assertAnyPolicy, collectDocuments, findDocumentProblems } from './source/document-problems.ts'
export { watchKubernetesPolicies } from './source/kubernetes/kubernetes-policies.ts'
export { fileOfResource } from './source/kubernetes/review-resources.ts'
export { createStatusWriter } from './source/kubernetes/status-writer.ts'
export {
  compileContents,
  createSettingsVocabulary,
  type LoadedPolicies,
  loadPolicies,
  parsePolicyFile,
} from './source/load-policies.ts'
export { listIgnoredFiles, namePolicyFolders } from './source/policy-folder.ts'
export {
  combineSources,
  type PolicySource,
  type PolicySources,
  watchFolders,
} from './source/policy-source.ts'
export { listTags } from './tags/object-tags.ts'
export { formatDisagreements, runTests, type TestResult } from './testing/decision-test.ts'
export {
  canDescribe,
  canListReferences,
  findContact,
  findGrounds,
  isConcealed,
} from './visibility/concealment.ts'
export { decideListing, findByVisibility, isListing } from './visibility/visibility.ts'
