import { rejectPlaceholder } from './placeholder.ts'
import { namedSubjectFields, subjectFields } from './policy-fields.ts'
import type { NamedSubjects, Subjects } from './policy-document.ts'
import {
  createFieldsReader,
  readOptional,
  readTrue,
  readNonEmptyTexts,
  type Field,
  type ValidateText,
  type Fields,
  type ReportProblem,
} from './field.ts'

const readSubjectsFields = createFieldsReader(subjectFields)
const readNamedFields = createFieldsReader(namedSubjectFields)

// oxlint-disable-next-line no-control-regex
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** Every caller, with a credential or without. */
export const everyone: Subjects = {
  users: [],
  groups: [],
  keys: [],
  any: true,
  anonymous: true,
  except: undefined,
}

export function readSubjects(field: Field, report: ReportProblem): Subjects {
  const fields = readSubjectsFields(field, report)
  if (fields === undefined) return { ...noSubjects, any: false, anonymous: false, except: undefined }
  const isEveryone = readOptional(fields, 'everyone', readTrue, report) ?? false
  const any = readOptional(fields, 'any', readTrue, report) ?? isEveryone
  const anonymous = readOptional(fields, 'anonymous', readTrue, report) ?? isEveryone
  const except = readOptional(fields, 'except', readExceptions, report)
  const named = (field.node?.kind === 'map' ? field.node.entries : []).filter(({ key }) => key !== 'except')
  if (named.length === 0)
    report(field.offset, `${field.name} names no subject; expected users, groups or "any: true"`)
  if (isEveryone && named.length > 1)
    report(
      field.offset,
      `${field.name} has more than "everyone: true", which is every caller; expected only "except" beside it`,
    )
  const { users, groups, keys } = readNamedSubjects(fields, report)
  return { users, groups, keys, any, anonymous, except }
}

export function readExceptions(field: Field, report: ReportProblem): NamedSubjects {
  const fields = readNamedFields(field, report)
  if (fields === undefined) return noSubjects
  if (field.node?.kind === 'map' && field.node.entries.length === 0) {
    report(field.offset, `${field.name} names no subject; expected users or groups`)
  }
  return readNamedSubjects(fields, report)
}

const noNames: readonly string[] = []
const noSubjects: NamedSubjects = { users: noNames, groups: noNames, keys: noNames }

function readNamedSubjects(
  fields: Fields<keyof typeof namedSubjectFields>,
  report: ReportProblem,
): NamedSubjects {
  const users = readOptional(fields, 'users', readNames, report) ?? noNames
  const groups = readOptional(fields, 'groups', readNames, report) ?? noNames
  const keys = readOptional(fields, 'keys', readNames, report) ?? noNames
  const accounts = readOptional(fields, 'serviceAccounts', readServiceAccounts, report)
  return { users: accounts === undefined ? users : [...users, ...accounts], groups, keys }
}

function readNames(field: Field, report: ReportProblem): readonly string[] {
  return readNonEmptyTexts(field, '[alice, "corp:bob"]', report, validateSubjectName)
}

function validateSubjectName(name: string): ReturnType<ValidateText> {
  if (name === '' || controlCharacter.test(name)) {
    return (item) => `${item} is ${JSON.stringify(name)}, which is not a valid name`
  }
  if (!name.includes('*')) return rejectPlaceholder(name)
  return (item) => `${item} contains "*"; names are exact; use "any: true" for every caller`
}

const serviceAccountPattern = /^([^:*]+):([a-z0-9-]+)\/([a-z0-9.-]+)$/

/** Returns the principals in the tokens of the service accounts. */
function readServiceAccounts(field: Field, report: ReportProblem): readonly string[] {
  const accounts = readNonEmptyTexts(field, '["cluster:etl/loader"]', report, (name) =>
    serviceAccountPattern.test(name)
      ? undefined
      : (item) => `${item} is ${JSON.stringify(name)}; expected issuer:namespace/name`,
  )
  return accounts.map((account) => account.replace(serviceAccountPattern, '$1:system:serviceaccount:$2:$3'))
}
