"""W's claims in plain words."""

from ..plain_words import Words

WORDS = {
    "W/sec3": Words(
        "Large starts train like a kernel method",
        "For a homogeneous model the tangent kernel grows as a power of the scale of the start. "
        "From an unbiased start, as the scale grows, the flow and its end tend to those of the "
        "model linearised at the start: the fit of least tangent-kernel norm.",
        "At a large initialisation scale the network is a kernel machine whose kernel you can "
        "compute beforehand (`bf.tangent_kernel`): no features are learnt.",
    ),
    "W/sec3-bias": Words(
        "A bias of the start must stay bounded for the kernel regime",
        "If the network does not start at the zero function, the kernel regime is that of an "
        "affine model, and is reached only if this bias stays bounded as the scale grows. Scaling "
        "a start with a bias never gets there: the network has to unlearn its own predictions.",
        "Use an unbiased start (subtract the initial function, or pair each unit with its "
        "negative) before you conclude anything from large scales.",
    ),
    "W/fn1": Words(
        "Scaling the start equals scaling the output",
        "For a homogeneous model of degree D, starting α times larger is the same as multiplying "
        "the output by α to the power D, in another unit of time.",
        "Initialisation scale and output multiplier are one hyper-parameter; only the clock "
        "differs.",
    ),
    "W/fn2": Words(
        "Products u∘v behave like differences of squares",
        "A model with weights u and v multiplied coordinate by coordinate follows the difference "
        "of squares of their half sum and half difference, at half the speed; its limit depends "
        "on the imbalance of u and v at the start.",
        "The two common diagonal networks have the same theory; the imbalance plays the part of "
        "the squared scale.",
    ),
    "W/hilbert": Words(
        "The rich regime's bias is no kernel norm",
        "What fitting labels costs in the ℓ1 norm violates the parallelogram law, which every "
        "kernel's norm obeys; the kernel regime's cost obeys it.",
        "No choice of kernel imitates training from a small start: feature learning is more than "
        "another kernel.",
    ),
    "W/thm1": Words(
        "Where a depth-2 diagonal network ends, for any scale of its start",
        "A linear predictor that is parametrised as a difference of squares and started at α in "
        "every weight converges to the interpolator of least Q, a function that is nearly the ℓ1 "
        "norm for small α and nearly the squared ℓ2 norm for large α; the whole path has a "
        "formula.",
        "`bf.limit` gives the end of training without training, at any scale. The scale of the "
        "start is the regularisation parameter.",
    ),
    "W/thm2": Words(
        "Small starts end near the least ℓ1 norm, large ones near the least ℓ2 norm",
        "If the scale α is below an explicit threshold, the ℓ1 norm of the end of training is "
        "within a factor 1 + ε of the least possible; if it is above another one, the squared ℓ2 "
        "norm is.",
        "The number ε is what the theorem promises at your α; the measured excess is usually far "
        "below it. For a sparse solution α must be exponentially small in 1/ε by this bound; for "
        "the kernel solution an α that grows as 1/√ε is enough.",
    ),
    "W/appA": Words(
        "How to read off the regulariser of a parametrisation",
        "Where each coefficient of the predictor depends on its own weights only, push one of them "
        "with a unit force and record how it moves: the inverse of that curve, integrated, is what "
        "gradient flow minimises among all interpolators.",
        "A recipe for parametrisations of your own: the implicit regulariser needs no closed form.",
    ),
    "W/lem1": Words(
        "How near Q is to the ℓ1 norm for small scales",
        "For α below an explicit bound, Q, suitably scaled, differs from the ℓ1 norm of a vector "
        "by at most a fraction ε.",
        "The price of sparsity: an error ε asks for an α that is exponentially small in 1/ε.",
    ),
    "W/lem2": Words(
        "How small the scale must be for Q to resemble the ℓ1 norm",
        "If α is above a power of the dimension, Q treats a vector with one entry and a vector "
        "with all entries differently from the ℓ1 norm, by more than a factor 1 + ε.",
        "The exponentially small scale is needed, not an artefact of a proof.",
    ),
    "W/lem3": Words(
        "How near Q is to the squared ℓ2 norm for large scales",
        "For α above an explicit bound, Q, suitably scaled, differs from the squared ℓ2 norm by at "
        "most a fraction ε.",
        "The kernel regime is reached at moderate scales: polynomially in 1/ε.",
    ),
    "W/thm3": Words(
        "Where a deeper diagonal network ends",
        "For depth three and more the flow converges to the interpolator of least Q of that depth; "
        "this tends to the least ℓ1 norm as the scale vanishes, and to the least ℓ2 norm as it "
        "grows.",
        "Depth changes the path between the two regimes, not the regimes.",
    ),
    "W/lem4": Words(
        "Deeper networks: the dual variable stays bounded",
        "For depth three and more the residual, added up over time and carried back to the "
        "coordinates, never exceeds a bound that depends on scale and depth alone.",
        "It keeps the formula of the flow valid at all times, on which the theorem about the limit "
        "rests.",
    ),
    "W/sec5": Words(
        "With depth, sparsity needs a polynomially small scale",
        "For depth three and more an excess ε over the least ℓ1 norm is reached at a scale that "
        "is a power of ε; at depth two it takes one that is exponential in 1/ε.",
        "If you want the rich regime, depth gets you there at scales that floats can hold.",
    ),
    "W/unique": Words(
        "Every depth has a regulariser of its own",
        "The function that a network of depth D ≥ 3 minimises belongs to no other depth, whatever "
        "its scale: its slope approaches one with an exponent that tells D.",
        "Depth is not a rescaling of the initialisation: it selects other solutions in between.",
    ),
    "W/eq58": Words(
        "From ℓ1 to ℓ2 without a turn",
        "The cost of a vector with a single entry, relative to that of a spread-out vector of the "
        "same ℓ2 norm, grows steadily with the scale: from its value for the ℓ1 norm to that for "
        "the ℓ2 norm.",
        "The scale of the start moves the bias in one direction only: there is one transition.",
    ),
    "W/explicit": Words(
        "Weight decay is another regulariser than a small start, from depth three on",
        "Penalising the squared norm of the weights is penalising the sum of |β_i| to the power "
        "2/D. At depth two that is the ℓ1 norm, as for small starts; deeper it is not convex and "
        "may select another solution than the flow does.",
        "Do not expect weight decay and a small initialisation to find the same predictor.",
    ),
    "W/saddle": Words(
        "The zero network is a saddle, the start α·1 is none",
        "At zero weights the gradient vanishes and no flow leaves; with two copies of the weights "
        "the network can be the zero function without being stuck. At depth two the saddle has a "
        "direction of negative curvature, deeper it is flat.",
        "Very small starts are near a saddle: the deeper the network, the flatter it is.",
    ),
    "W/escape": Words(
        "How long it takes to leave the saddle from a small start",
        "As the scale vanishes, the time before anything is learnt grows: like the logarithm of "
        "1/α² at depth two, like a power of 1/α deeper, with known constants.",
        "A plateau at the beginning of training of a known length: it is the price of the rich "
        "regime.",
    ),
    "W/samples": Words(
        "The rich regime needs few samples, the kernel regime as many as dimensions",
        "For a sparse truth about three times sparsity times log-dimension samples are enough for "
        "the least ℓ1 norm; the least ℓ2 norm has an error of about one minus samples over "
        "dimension.",
        "Which regime you train in decides how much data you need.",
    ),
    "W/limit": Words(
        "As the scale vanishes, training jumps from saddle to saddle",
        "In a time that is slowed down by the logarithm of the scale, the flow of the depth-two "
        "model becomes a sequence of jumps between saddles: one coordinate after another switches "
        "on, and it ends at the least ℓ1 norm.",
        "Loss curves with plateaus are what theory predicts for small starts; `bf.saddle_path` "
        "computes the plateaus exactly.",
    ),
    "W/descent": Words(
        "Finite steps and minibatches act like a smaller scale",
        "Gradient descent with a finite step, or on minibatches, converges to the projection for a "
        "smaller effective scale, coordinate by coordinate, from a slightly shifted start.",
        "Larger steps and noise usually make solutions sparser, by an amount that can be computed "
        "from the steps taken; not every coordinate gains alike.",
    ),
    "W/sec6": Words(
        "Matrix completion: large starts leave unobserved entries as they are",
        "From an unbiased start of orthogonal rows, or of very many random columns, the tangent "
        "kernel does not connect different entries: a large scale fits the observed entries and "
        "learns nothing about the others. With more columns the transition comes at smaller "
        "scales.",
        "Wider factors need a smaller start to learn anything: scale it as one over the root of "
        "their number of columns.",
    ),
    "W/sec6-rich": Words(
        "Matrix completion: small starts recover a planted matrix of rank one",
        "If the observed entries determine a matrix of rank one, the end of training tends to it "
        "as the scale vanishes, with a power of the scale. This need not be the completion of "
        "least nuclear norm.",
        "Small starts favour low rank, and not exactly the nuclear norm.",
    ),
    "W/sec8": Words(
        "Wide random factors are nearly unbiased and in the kernel regime",
        "Without doubling the weights, random entries of size k^{−s} with s between 1/4 and 1/2 "
        "give a start whose function vanishes and a kernel that does not move as the width k "
        "grows; at s = 1/2 the kernel changes for good.",
        "How weights are scaled with the width decides whether a wide network learns features: at "
        "s = 1/2 it does, between the two it is a kernel method.",
    ),
}
