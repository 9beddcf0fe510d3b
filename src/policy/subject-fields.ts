import { namedSubjectFields, subjectFields } from './language.ts'
import type { NamedSubjects, Subjects } from './policy-document.ts'
import { choiceOf, fieldsOf, optional, someTextsOf, type Field, type Report } from './yaml-fields.ts'

// oxlint-disable-next-line no-control-regex
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/

/** Whom a rule concerns; every fault is reported. */
export function subjectsOf(field: Field, report: Report): Subjects {
  const fields = fieldsOf(field, subjectFields, report)
  if (fields === undefined) return { ...nobody, any: false, anonymous: false, except: undefined }
  const any = optional(fields.any, (field) => choiceOf(field, [true], report)) ?? false
  const anonymous = optional(fields.anonymous, (field) => choiceOf(field, [true], report)) ?? false
  const except = optional(fields.except, (field) => exceptionsOf(field, report))
  const isNamed = field.node?.kind === 'map' && field.node.entries.some(({ key }) => key !== 'except')
  if (!isNamed) report(field.offset, `${field.name} names nobody; expected users, groups or "any: true"`)
  return { ...namedOf(fields, report), any, anonymous, except }
}

/** Whom a rule or a requirement leaves alone. */
export function exceptionsOf(field: Field, report: Report): NamedSubjects {
  const fields = fieldsOf(field, namedSubjectFields, report)
  if (fields === undefined) return nobody
  if (field.node?.kind === 'map' && field.node.entries.length === 0) {
    report(field.offset, `${field.name} names nobody; expected users or groups`)
  }
  return namedOf(fields, report)
}

const nobody: NamedSubjects = { users: [], groups: [], keys: [] }

function namedOf(
  fields: Readonly<Record<keyof typeof namedSubjectFields, Field>>,
  report: Report,
): NamedSubjects {
  const read = (field: Field): readonly string[] => optional(field, (field) => namesOf(field, report)) ?? []
  const accounts = optional(fields.serviceAccounts, (field) => serviceAccountsOf(field, report)) ?? []
  return {
    users: [...read(fields.users), ...accounts],
    groups: read(fields.groups),
    keys: read(fields.keys),
  }
}

function namesOf(field: Field, report: Report): readonly string[] {
  return someTextsOf(field, '[alice, "corp:bob"]', report, (name, item) => {
    if (name === '' || controlCharacter.test(name)) {
      report(item.offset, `${item.name} is ${JSON.stringify(name)}, which nobody is called`)
    } else if (name.includes('*')) {
      report(item.offset, `${item.name} holds "*"; names are exact, and every caller is "any: true"`)
    }
  })
}

const serviceAccount = /^([^:*]+):([a-z0-9-]+)\/([a-z0-9.-]+)$/

/** The principals that the tokens of the service accounts name. */
function serviceAccountsOf(field: Field, report: Report): readonly string[] {
  const accounts = someTextsOf(field, '["cluster:etl/loader"]', report, (name, item) => {
    if (serviceAccount.test(name)) return
    report(item.offset, `${item.name} is ${JSON.stringify(name)}; expected issuer:namespace/name`)
  })
  return accounts.map((account) => account.replace(serviceAccount, '$1:system:serviceaccount:$2:$3'))
}
