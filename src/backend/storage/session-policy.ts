/** What the holder of temporary credentials may do with the objects of the table. */
export type TableAccess = 'read' | 'write'

/** No longer policies are taken by AssumeRole. */
const maxPolicyLength = 2048

/**
 * The policy that confines temporary credentials to the objects of one table, `s3://BUCKET/KEY`, as JSON text. With
 * `write`, all objects can be written and deleted but the manifests of versions, which only the catalog makes; what a
 * client stages for a commit has a longer name. Stores differ in how well they carry that out: Ceph 16 lets a copy within
 * the table past it. Undefined for a table with a name that is too long for a policy, or
 * with characters that stand for others in one.
 */
export function buildSessionPolicy(
  location: string,
  access: TableAccess,
  partition: string,
): string | undefined {
  const [, bucket, key] = /^s3:\/\/([\w.-]+)\/([\w./-]+)$/.exec(location) ?? []
  if (bucket === undefined || key === undefined) return undefined
  const bucketName = `arn:${partition}:s3:::${bucket}`
  const objects = `${bucketName}/${key}/*`
  const statements = [
    {
      Effect: 'Allow',
      Action: 's3:ListBucket',
      Resource: bucketName,
      Condition: { StringLike: { 's3:prefix': `${key}/*` } },
    },
    { Effect: 'Allow', Action: actions[access], Resource: objects },
    ...(access === 'write' ? [{ Effect: 'Deny', Action: changes, Resource: `${objects}.manifest` }] : []),
  ]
  const text = JSON.stringify({ Version: '2012-10-17', Statement: statements })
  return text.length > maxPolicyLength ? undefined : text
}

const changes = ['s3:PutObject', 's3:DeleteObject']

const actions: Readonly<Record<TableAccess, readonly string[]>> = {
  read: ['s3:GetObject'],
  write: ['s3:GetObject', ...changes, 's3:AbortMultipartUpload'],
}
