import type { OutgoingHttpHeaders } from 'node:http'

/** Features of the browser that the page never uses, and that apps may use only if the person agrees. */
const unusedFeatures = [
  'accelerometer',
  'autoplay',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'geolocation',
  'gyroscope',
  'hid',
  'identity-credentials-get',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'otp-credentials',
  'payment',
  'picture-in-picture',
  'publickey-credentials-create',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]

/** A permissions policy without any feature but those for which there is an origin. */
export function permissionsPolicy(originOf: (feature: string) => string | undefined): string {
  return [...unusedFeatures, 'clipboard-write']
    .map((feature) => `${feature}=(${originOf(feature) ?? ''})`)
    .join(', ')
}

/** The page itself copies to the clipboard. */
const noFeatures = permissionsPolicy((feature) => (feature === 'clipboard-write' ? 'self' : undefined))

/** Features that an app may be given. Its frame can have no feature that the page does not have. */
const appFeatures: ReadonlySet<string> = new Set(['camera', 'microphone', 'geolocation', 'clipboard-write'])

/** The permissions policy of the page, whose frames, of origins that match `apps`, may pass on what an app was given. */
export function pagePermissions(apps: string | undefined): string {
  if (apps === undefined) return noFeatures
  const origins = `self "${apps}"`
  return permissionsPolicy((feature) => (appFeatures.has(feature) ? origins : undefined))
}

/** The policy of a blob that a tab opens: no script, no origin, no request. */
export const blobPolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"

/**
 * The policy of every other response. `nonce`: of the style elements of the page; `apps`: the pattern of the origins of apps, such
 * as `http://*.localhost:7421`.
 */
export function pagePolicy(nonce?: string, apps?: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? '' : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    ...(apps === undefined ? [] : [`frame-src ${apps}`]),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
}

/** The headers of every response, also of refusals. */
export function securityHeaders(policy: string = pagePolicy()): OutgoingHttpHeaders {
  return {
    'Content-Security-Policy': policy,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Origin-Agent-Cluster': '?1',
    'Permissions-Policy': noFeatures,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  }
}
