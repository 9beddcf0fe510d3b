/** API version of policies in files. */
export const fileApiVersion = 'catalog-gateway/v1'

/** API group of AccessPolicy resources in Kubernetes. */
export const policyApiGroup = 'catalog-gateway.dev'

/** API version of AccessPolicy resources in Kubernetes; files accept it, too. */
export const resourceApiVersion = `${policyApiGroup}/v1`

export const policyKind = 'AccessPolicy'

/** Name of AccessPolicy resources in paths of the Kubernetes API. */
export const policyResourceName = 'accesspolicies'

/** Annotation with the description of a policy: the Kubernetes API has no such member of `metadata`. */
export const descriptionAnnotation = `${policyApiGroup}/description`
