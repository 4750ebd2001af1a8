package forgetest

// FewTagsOnly is what becomes of a comment's raw HTML.
var FewTagsOnly = fewTagsOnly
