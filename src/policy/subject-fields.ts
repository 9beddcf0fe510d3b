import { namedSubjectFields, subjectFields } from './language.ts'
import type { NamedSubjects, Subjects } from './policy-document.ts'
import {
  fieldsReader,
  optional,
  readTrue,
  someTextsOf,
  type Field,
  type FaultOfText,
  type Fields,
  type Report,
} from './yaml-fields.ts'

const readSubjects = fieldsReader(subjectFields)
const readNamed = fieldsReader(namedSubjectFields)

// oxlint-disable-next-line no-control-regex
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** Whom a rule concerns; every fault is reported. */
export function subjectsOf(field: Field, report: Report): Subjects {
  const fields = readSubjects(field, report)
  if (fields === undefined) return { ...nobody, any: false, anonymous: false, except: undefined }
  const any = optional(fields, 'any', readTrue, report) ?? false
  const anonymous = optional(fields, 'anonymous', readTrue, report) ?? false
  const except = optional(fields, 'except', exceptionsOf, report)
  const isNamed = field.node?.kind === 'map' && field.node.entries.some(({ key }) => key !== 'except')
  if (!isNamed) report(field.offset, `${field.name} names no subject; expected users, groups or "any: true"`)
  const { users, groups, keys } = namedOf(fields, report)
  return { users, groups, keys, any, anonymous, except }
}

/** Whom a rule or a requirement leaves alone. */
export function exceptionsOf(field: Field, report: Report): NamedSubjects {
  const fields = readNamed(field, report)
  if (fields === undefined) return nobody
  if (field.node?.kind === 'map' && field.node.entries.length === 0) {
    report(field.offset, `${field.name} names no subject; expected users or groups`)
  }
  return namedOf(fields, report)
}

const none: readonly string[] = []
const nobody: NamedSubjects = { users: none, groups: none, keys: none }

function namedOf(fields: Fields<keyof typeof namedSubjectFields>, report: Report): NamedSubjects {
  const users = optional(fields, 'users', namesOf, report) ?? none
  const groups = optional(fields, 'groups', namesOf, report) ?? none
  const keys = optional(fields, 'keys', namesOf, report) ?? none
  const accounts = optional(fields, 'serviceAccounts', serviceAccountsOf, report)
  return { users: accounts === undefined ? users : [...users, ...accounts], groups, keys }
}

function namesOf(field: Field, report: Report): readonly string[] {
  return someTextsOf(field, '[alice, "corp:bob"]', report, faultOfSubject)
}

function faultOfSubject(name: string): ReturnType<FaultOfText> {
  if (name === '' || controlCharacter.test(name)) {
    return (item) => `${item} is ${JSON.stringify(name)}, which is not a valid name`
  }
  if (!name.includes('*')) return undefined
  return (item) => `${item} contains "*"; names are exact; use "any: true" for every caller`
}

const serviceAccount = /^([^:*]+):([a-z0-9-]+)\/([a-z0-9.-]+)$/

/** The principals that the tokens of the service accounts name. */
function serviceAccountsOf(field: Field, report: Report): readonly string[] {
  const accounts = someTextsOf(field, '["cluster:etl/loader"]', report, (name) =>
    serviceAccount.test(name)
      ? undefined
      : (item) => `${item} is ${JSON.stringify(name)}; expected issuer:namespace/name`,
  )
  return accounts.map((account) => account.replace(serviceAccount, '$1:system:serviceaccount:$2:$3'))
}
