/**
 * `npm run check:links`: every link between the pages, to a file or to an anchor, leads somewhere. Off line: addresses
 * on the web are not visited.
 */
import remarkValidateLinks from "remark-validate-links";

export default { plugins: [[remarkValidateLinks, { repository: false }]] };
