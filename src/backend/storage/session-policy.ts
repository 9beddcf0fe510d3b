export type TableAccess = 'read' | 'write'

/** The limit of AssumeRole. */
const maxPolicyLength = 2048

/**
 * Confines temporary credentials to the objects of one table. `write` allows all objects except the manifests of
 * versions, which only the catalog creates; manifests staged by clients have longer names. Stores differ in
 * enforcement: Ceph 16 allows bypassing it by a copy within the table. Returns undefined if the name of the table is
 * too long for a policy or contains wildcard characters.
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
    { Effect: 'Allow', Action: allowedActions[access], Resource: objects },
    ...(access === 'write'
      ? [{ Effect: 'Deny', Action: changeActions, Resource: `${objects}.manifest` }]
      : []),
  ]
  const text = JSON.stringify({ Version: '2012-10-17', Statement: statements })
  return text.length > maxPolicyLength ? undefined : text
}

const changeActions = ['s3:PutObject', 's3:DeleteObject']

const allowedActions: Readonly<Record<TableAccess, readonly string[]>> = {
  read: ['s3:GetObject'],
  write: ['s3:GetObject', ...changeActions, 's3:AbortMultipartUpload'],
}
