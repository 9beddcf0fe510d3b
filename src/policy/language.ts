/*
 * The fields of a policy, each with what it says: what the reader of policies knows, what the JSON Schema for
 * editors shows.
 */

/** The fields of a document. */
export const documentFields = {
  apiVersion: 'The version of the language.',
  kind: 'What the document is.',
  metadata: 'What the policy is called.',
  mode: 'shadow: decides nothing; what it would change is counted and logged. Without it: enforce.',
  namespace: 'The path of the namespace that the policy is for, as a list of names. [] is the root.',
  inherit: 'false: what policies of namespaces above allow does not reach this one, nor what is beneath it.',
  final: 'Operations, or groups of them, that policies of namespaces beneath cannot allow.',
  onDeny:
    'How a denial is answered, here and beneath. 404: as if the object were not there. 403: as a denial. ' +
    'Without it: 403 to callers who may list the object, else 404.',
  commits: 'What every commit to a table here or beneath must fulfil, whoever makes it.',
  rules: 'Who is allowed or denied what.',
  tests:
    'What the policies of the folder are expected to decide; checked by `policy test`, and else without effect.',
} as const

/** The fields of a decision table: a document of tests alone. */
export const decisionTableFields = {
  apiVersion: documentFields.apiVersion,
  kind: documentFields.kind,
  metadata: 'What the table is called.',
  tests: documentFields.tests,
} as const

/** The fields of a test: who asks for what on which object, and what is expected. */
export const testFields = {
  name: 'What the test shows, for people.',
  as: 'Who calls. Without it: a caller whom no policy names.',
  operations: 'Operations of the interface, or groups of them; each is decided by itself.',
  namespace: 'The namespace that is asked about, as a list of names.',
  table:
    'The table, or materialized view, that is asked about: its namespace and its name, as a list of names.',
  transaction: 'The transaction that is asked about, as a list of names.',
  beneath: 'true: the namespace and everything that is or could be beneath it.',
  given: 'What the request says besides.',
  expect: 'allow, or deny.',
  rule: 'The rule that is expected to decide: its id, or policy/id.',
} as const

/** The fields of a caller in a test. */
export const callerFields = {
  anonymous: 'true: a caller who sends no credential; then nothing else is said.',
  user: 'The name of the principal.',
  groups: 'Its groups.',
  key: 'The id of its API key.',
  method:
    'How it proved who it is: api-key, token or certificate. Without it: token where there are claims or an issuer, else api-key.',
  issuer: 'Who vouches for it.',
  claims: 'What its token says.',
} as const

/** What a request says besides, in a test. */
export const givenFields = {
  address: 'The address of the caller, which conditions call client.address; 192.0.2.1 unless told.',
  now: 'When the request came; 2026-01-01T00:00:00Z unless told.',
  context: 'The context headers, by key.',
  mode: 'As in conditions.',
  behavior: 'As in conditions.',
  branch: 'As in conditions; main unless told, where a table is asked about.',
  tag: 'As in conditions.',
  location: 'As in conditions.',
  manifestPath: 'As in conditions.',
  destination: 'As in conditions.',
  metadata: 'As in conditions.',
  properties: 'As in conditions.',
} as const

/** The fields of `metadata`. */
export const metadataFields = {
  name: 'Unique in the folder of policies: logs and audit records name it.',
  description: 'For people.',
} as const

/** The fields of a rule. */
export const ruleFields = {
  id: 'Unique in the document: logs and audit records name it.',
  effect: 'allow, or deny. A deny that applies always wins.',
  subjects: 'Whom the rule concerns: whoever is named in any of the lists.',
  operations: 'Operations of the interface, or groups of them.',
  tables:
    'Names of tables directly in the namespace; * stands for any characters. Without it, the rule covers the ' +
    'namespace and everything beneath it.',
  when: 'A condition in CEL that must hold for the rule to apply.',
} as const

/** The ways to name callers. */
export const namedSubjectFields = {
  users: 'Principals: of an API key its principal, of a token issuer:subject.',
  groups: 'Groups: of a token issuer:group.',
  keys: 'Ids of API keys.',
  serviceAccounts: 'Service accounts of Kubernetes, as issuer:namespace/name.',
} as const

/** The fields of `subjects`. */
export const subjectFields = {
  ...namedSubjectFields,
  any: 'true: every authenticated caller.',
  anonymous: 'true: callers who send no credential, where the settings let them in; nothing else names them.',
  except: 'Whom the rule does not concern all the same.',
} as const

/** The fields of `commits`. */
export const commitFields = {
  require: 'The requirements; a commit that fails one is denied.',
} as const

/** The fields of a requirement: an id, whom it leaves alone, and exactly one demand. */
export const requirementFields = {
  id: 'Unique in the document: logs and audit records name it.',
  except: 'Whom the requirement does not concern.',
  metadata: 'Keys that the metadata of a new version must hold, none of them empty.',
  branches: 'Patterns of the only branches that may be changed.',
  notBranches: 'Patterns of branches that may not be changed.',
  allowWholeTable:
    'Beside branches or notBranches: changes of whole tables that are allowed all the same, such as DropTable.',
  folders: 'The only folders under which staging manifests and chosen locations may lie.',
  freeze: 'Times between which nothing is changed.',
} as const

/** The fields of `freeze`. */
export const freezeFields = {
  from: 'When it begins, such as 2026-12-20T00:00:00Z. Without it: at once.',
  until: 'When it is over. Without it: never.',
} as const

/** What a field is called in other languages, and here. */
export const otherNames: Readonly<Record<string, string>> = {
  action: 'operations',
  actions: 'operations',
  condition: 'when',
  conditions: 'when',
  group: 'groups',
  if: 'when',
  permissions: 'operations',
  principals: 'subjects',
  resourceNames: 'tables',
  resources: 'tables',
  user: 'users',
  verbs: 'operations',
}

/** What to say of a field that somebody may look for where it is not. */
export const misplacedFields: Readonly<Record<string, string>> = {
  'rules.final':
    '; a deny cannot be undone anyway, and "final" stands beside "rules", as the list of operations that ' +
    'policies beneath cannot allow',
  'rules.onDeny': '; it stands beside "rules", and holds for the namespace',
  'rules.inherit': '; it stands beside "rules", and holds for the namespace',
  'rules.namespace': '; it stands beside "rules": one document for each namespace',
}
