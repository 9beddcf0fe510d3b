import { descriptionAnnotation, resourceApiVersion } from './api-version.ts'

/*
 * The fields of the policy language with their descriptions, for the parser and for the JSON Schema.
 */

export const policyModes = ['enforce', 'shadow', 'development'] as const

export const documentFields = {
  apiVersion: 'The version of the language.',
  kind: 'The kind of the document.',
  metadata: 'Name and description of the policy.',
  mode:
    'shadow: the policy is evaluated, but only differences are counted and logged. development: it is in force in ' +
    '`catalog-gateway dev` alone; other gateways refuse it. Default: enforce.',
  forEach:
    'One variable and its values, such as { team: [crm, billing] }: the policy is one for each value, which replaces ' +
    '{team} in every text. Values are names; {team} must be in the namespace.',
  namespace: 'The namespace of the policy, as a list of names. [] is the root.',
  inherit: 'false: allow rules of parent namespaces do not apply here or beneath.',
  final: 'Operations, or groups of them, that policies of child namespaces cannot allow.',
  onDeny:
    'Response to a denial, here and beneath. 404: conceal that the object exists. 403: denied. ' +
    'Default: 403 for callers that may list the object, otherwise 404.',
  contact:
    'Whom to ask for access, in one line: shown with a denial here or beneath to callers that may see this namespace.',
  commits: 'What every new version of a table, here or beneath, must fulfil.',
  restrict:
    'What callers may read of tables of which they may not read everything. A restriction allows nothing, and nothing ' +
    'beneath undoes it.',
  tags:
    'Tags of the namespace and of tables and columns in it, for conditions ("pii" in tags) and restrictions ' +
    '(columns: { without: [pii] }). They allow and deny nothing by themselves.',
  rules: 'Allow and deny rules.',
  tests: 'Expected decisions of the policies in the folder, for `policy test`; no effect on requests.',
} as const

export const decisionTableFields = {
  apiVersion: documentFields.apiVersion,
  kind: documentFields.kind,
  metadata: 'Name and description of the table.',
  tests: documentFields.tests,
} as const

export const testFields = {
  name: 'Description of the test.',
  as: 'The caller. Default: a caller that no policy names.',
  operations: 'Operations, or groups of them; each is decided separately.',
  namespace: 'The namespace, as a list of names.',
  table: 'The table, view or function: namespace and name, as a list of names.',
  transaction: 'The transaction: the id of its table and its own name, as a list of names.',
  beneath: 'true: the namespace and everything beneath it, existing or not.',
  given: 'Facts of the request.',
  expect: 'allow, or deny.',
  rule: 'The expected deciding rule: its id, or policy/id.',
  sends:
    "With allow: the expected condition of restrictions on rows, as `policy explain` prints it, such as (`region` = 'EU').",
  columns:
    'With allow: the columns that restrictions are expected to leave, in any order, such as [id, person.city].',
} as const

export const callerFields = {
  anonymous: 'true: an anonymous caller; no other field is allowed.',
  user: 'The name of the principal.',
  groups: 'Its groups.',
  key: 'The id of its API key.',
  method:
    'How the caller authenticated: api-key, token or certificate. Default: token if claims or issuer are given, otherwise api-key.',
  issuer: 'The issuer.',
  claims: 'The claims of its token.',
} as const

export const requestFields = {
  address: 'The client address (client.address in conditions). Default: 192.0.2.1.',
  now: 'The time of the request. Default: 2026-01-01T00:00:00Z.',
  context: 'The context headers, by key.',
  mode: 'As in conditions.',
  behavior: 'As in conditions.',
  branch: 'As in conditions. Default for tables: main.',
  tag: 'As in conditions.',
  location: 'As in conditions.',
  manifestPath: 'As in conditions.',
  destination: 'As in conditions.',
  metadata: 'As in conditions.',
  properties: 'As in conditions.',
} as const

export const metadataFields = {
  name: 'Unique in the folder of policies; appears in logs and audit records.',
  description: 'Description.',
} as const

/** Metadata with the API version of resources. The fields from `uid` on are set by the API server. */
export const resourceMetadataFields = {
  name: metadataFields.name,
  namespace: 'The Kubernetes namespace; ignored in files.',
  labels: 'Labels; ignored.',
  annotations: `Annotations; ${descriptionAnnotation} is the description.`,
  uid: 'Ignored.',
  resourceVersion: 'Ignored.',
  generation: 'Ignored.',
  creationTimestamp: 'Ignored.',
  deletionTimestamp: 'Ignored.',
  deletionGracePeriodSeconds: 'Ignored.',
  finalizers: 'Ignored.',
  generateName: 'Ignored.',
  ownerReferences: 'Ignored.',
  managedFields: 'Ignored.',
} as const

export const ruleFields = {
  id: 'Unique in the document: logs and audit records name it.',
  effect: 'allow, or deny. A deny that applies always wins.',
  subjects: 'The callers that the rule applies to: those in any of the lists.',
  operations: 'Operations of the interface, or groups of them.',
  tables:
    'Names of tables directly in the namespace; * matches any characters. By default the rule covers the ' +
    'namespace and everything beneath it. A deny also covers what moves the tables.',
  when: 'A condition in CEL that must hold for the rule to apply.',
  until: 'Only for allow: the time from which the rule no longer applies, such as 2027-01-31T10:00:00Z.',
  message:
    'One line for callers that the rule denies, or that it does not allow because of its condition alone; ' +
    'shown with 403 to callers that may know of the object.',
} as const

export const namedSubjectFields = {
  users: 'Principals: of an API key its principal, of a token issuer:subject.',
  groups: 'Groups: of a token issuer:group.',
  keys: 'Ids of API keys.',
  serviceAccounts: 'Service accounts of Kubernetes, as issuer:namespace/name.',
} as const

export const subjectFields = {
  ...namedSubjectFields,
  everyone: 'true: every caller, with or without a credential; only `except` may be beside it.',
  any: 'true: every authenticated caller.',
  anonymous: 'true: anonymous callers, if the settings accept them; no other field matches them.',
  except: 'Callers that the rule does not apply to.',
} as const

export const restrictionFields = {
  id: 'Unique in the document: logs and audit records name it.',
  subjects: 'The callers, and exceptions.',
  tables:
    'Patterns of names of tables directly in the namespace. All that is not reading them is denied to the callers.',
  columns:
    'The only columns that the callers may read, each with its type, such as { id: number, person.city: text }. ' +
    'New columns of a table stay hidden. Or { without: [pii] }: the columns that `tags` declares for the table, but those ' +
    'with one of these tags.',
  rows:
    "A condition on the only rows that the callers may read, such as region = 'EU' and tenant in " +
    '$principal.claims.tenants. Default: all rows.',
} as const

export const columnsWithoutFields = {
  without:
    'Tags. Of each table, the columns remain that its namespace declares in `tags` and that have none of these.',
} as const

export const tagsFields = {
  namespace: 'Tags of the namespace: all that is or will be created beneath it has them, too.',
  tables:
    'Tables directly in the namespace, by their exact name, each declared in one document only: ' +
    'their tags, and their columns with type and tags.',
} as const

export const taggedTableFields = {
  tags: 'Tags of the table, which all its columns have, too.',
  columns:
    'Columns, each with its type, or with type and tags: { id: number, ssn: { type: text, tags: [pii] } }.',
} as const

export const taggedColumnFields = {
  type: 'The type of the column.',
  tags: 'Tags of the column. Its table does not have them.',
} as const

export const commitFields = {
  folders: 'The only folders under which staging manifests and chosen locations may lie.',
  metadata: 'Keys that the metadata of a new version must have, with non-empty values.',
  except: 'Callers that this does not apply to.',
} as const

/** Names used by other policy languages, with the field that corresponds. */
export const fieldAliases: Readonly<Record<string, string>> = {
  action: 'operations',
  actions: 'operations',
  condition: 'when',
  conditions: 'when',
  group: 'groups',
  expires: 'until',
  expiresAt: 'until',
  if: 'when',
  permissions: 'operations',
  principals: 'subjects',
  resourceNames: 'tables',
  resources: 'tables',
  user: 'users',
  verbs: 'operations',
}

/** Hints for known fields in the wrong place, by path. */
export const misplacedFieldHints: Readonly<Record<string, string>> = {
  'metadata.description': `; with apiVersion: ${resourceApiVersion} it is the annotation "${descriptionAnnotation}"`,
  'metadata.namespace': `; it is the Kubernetes namespace, and needs apiVersion: ${resourceApiVersion}`,
  'metadata.labels': `; it needs apiVersion: ${resourceApiVersion}`,
  'metadata.annotations': `; it needs apiVersion: ${resourceApiVersion}`,
  'rules.final':
    '; a deny always wins, and "final" is a field of the document, next to "rules": the operations that ' +
    'child policies cannot allow',
  'rules.onDeny': '; it is a field of the document, next to "rules", and applies to the namespace',
  'rules.inherit': '; it is a field of the document, next to "rules", and applies to the namespace',
  'rules.forEach': '; it is a field of the document, next to "rules": one document for each value',
  'rules.namespace': '; it is a field of the document, next to "rules": one document for each namespace',
}
