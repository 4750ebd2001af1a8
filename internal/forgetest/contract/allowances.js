// What GitHub itself does beside the description of its interface. Each has
// its reason here, and one that is no longer needed fails the run.

// general are the answers that any request may get. GitHub tells of them in
// "Troubleshooting the REST API" and "Rate limits for the REST API", and
// describes them for some of the operations only. The values are the schemas
// of their bodies.
export const general = {
  400: ['basic-error'], // a body that is not JSON
  401: ['basic-error'], // a bad, expired or revoked credential
  403: ['basic-error'], // a rate limit, a missing permission, a suspended installation, something locked or archived
  404: ['basic-error'], // what is not there or must not be seen
  422: ['validation-error', 'validation-error-simple']
}

// moved: a renamed or transferred repository answers so to every request
// ("Best practices for using the REST API": follow redirects), and its new
// address, by id, has everything that the named one has.
export const moved = [301, 307]
export const byID = [/^\/repositories\/\d+(?=\/|$)/, '/repos/owner/name']

// deviations of single operations: a fault is none where both patterns fit.
export const deviations = [
  {
    why: 'the account of an installation is a user or an enterprise; only this listing describes it as both at once',
    place: /^answer 200 of GET \/app\/installations$/, fault: /^\/\*\/account: must /
  },
  {
    why: 'the repository of a head is null once the fork is deleted; listings of pull requests describe it so',
    place: /^answer 200 of GET \/repos\/\{owner\}\/\{repo\}\/pulls\/\{pull_number\}$/, fault: /^\/head\/repo: must be object$/
  },
  {
    why: "the parameter's own words: \"you can also pass an `array` of labels directly\"; its schema has only the object",
    place: /^request POST \/repos\/\{owner\}\/\{repo\}\/issues\/\{issue_number\}\/labels$/, fault: /^body \/: must (be object|match exactly one schema in oneOf)$/
  }
]
