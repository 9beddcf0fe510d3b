import { z } from 'zod'
import { int64, optionalMember, requestSchema, responseSchema } from './members.ts'

/** `system`, or a kind, a database and an id: `table:db:ns$t`. */
const object = z.string().min(1)
/** A kind and a name: `p:` and `P:` for a principal, `g:` and `G:` for a group, `r:` for a role, `a:` for an API key. */
const subject = z.string().min(1)
const privilege = z.string().min(1)
const role = z.string().min(1)

const grant = { object, subject, privilege }
const roleBinding = { subject, role }
const paging = { continuation_token: optionalMember(z.string()), max_results: optionalMember(int64) }

const namedSubject = { subject_id: subject, subject_name: z.string().optional() }
const page = { continuation_token: z.string().optional() }
const identities = z.array(
  z.object({ id: z.string(), name: z.string().optional() }).meta({ id: 'NamedIdentity' }),
)
const roles = z.array(role)

export const grantSchemas = {
  ListGrants: {
    request: requestSchema({
      object: optionalMember(object),
      subject: optionalMember(subject),
      ...paging,
    }),
    response: responseSchema({
      entries: z.array(z.object({ object, ...namedSubject, privilege }).meta({ id: 'Grant' })),
      ...page,
    }),
  },
  AddGrant: { request: requestSchema(grant), response: responseSchema({}) },
  DeleteGrant: { request: requestSchema(grant), response: responseSchema({}) },
  ListRoleBindings: {
    request: requestSchema({
      subject: optionalMember(subject),
      role: optionalMember(role),
      ...paging,
    }),
    response: responseSchema({
      bindings: z.array(z.object({ ...namedSubject, role }).meta({ id: 'RoleBinding' })),
      ...page,
    }),
  },
  AddRoleBinding: { request: requestSchema(roleBinding), response: responseSchema({}) },
  DeleteRoleBinding: { request: requestSchema(roleBinding), response: responseSchema({}) },
  DescribePrincipal: {
    request: requestSchema({ principal: subject }),
    response: responseSchema({
      principal_id: z.string(),
      principal_name: z.string().optional(),
      groups: identities,
      roles,
    }),
  },
  DescribeGroup: {
    request: requestSchema({ group: subject }),
    response: responseSchema({
      group_id: z.string(),
      group_name: z.string().optional(),
      principals: identities,
      roles,
    }),
  },
}
